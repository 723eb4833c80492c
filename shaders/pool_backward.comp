// dx = a·dy and dscore = a·Σ_c dy·(x − y) over channels c, where dy and y are of x's sequence.
//   dx, x [T, width], dscore, a, sequence [T], dy, y [B, width]
//
// One workgroup processes 256/lanes rows.
//
//   constants: lanes per row; push: extent
#version 450
#extension GL_GOOGLE_include_directive : require
#include "include/common.glsl"
#include "include/rows.glsl"

layout(push_constant) uniform Push { EXTENT; } push;

OPERAND(1, writeonly, float, dx);
OPERAND(2, writeonly, float, dscore);
OPERAND(3, readonly, float, dy);
OPERAND(4, readonly, float, y);
OPERAND(5, readonly, float, a);
OPERAND(6, readonly, float, x);
OPERAND(7, readonly, uint, sequence);

void main() {
    uint rows = usedRows(push.axis, push.capacity, push.first, push.rows), d = push.width;
    if (firstRow() >= rows) return;
    bool spare = row() >= rows;
    uint i = spare ? 0 : row(), from = sequence[i] * d;
    float weight = a[i], sum = 0;
    for (uint c = lane(); c < d; c += LANES) {
        float g = dy[from + c];
        sum += g * (x[i * d + c] - y[from + c]);
        if (!spare) dx[i * d + c] = weight * g;
    }
    sum = rowAdd(sum);
    if (!spare && lane() == 0) dscore[i] = weight * sum;
}
