// y = x·weight + bias. The order of additions is the same for every row.
//   y [rows], x [rows, width], weight [width], bias [1]
//
// One workgroup processes 256/lanes rows.
//
//   constants: lanes per row; push: extent
#version 450
#extension GL_GOOGLE_include_directive : require
#include "include/common.glsl"
#include "include/rows.glsl"

layout(push_constant) uniform Push { EXTENT; } push;

OPERAND(1, writeonly, float, y);
OPERAND(2, readonly, float, x);
OPERAND(3, readonly, float, weight);
OPERAND(4, readonly, float, bias);

void main() {
    uint rows = usedRows(push.axis, push.capacity, push.first, push.rows);
    if (firstRow() >= rows) return;
    bool spare = row() >= rows;
    uint at = spare ? 0 : row() * push.width;
    float sum = 0;
    for (uint c = lane(); c < push.width; c += LANES) sum += x[at + c] * weight[c];
    sum = rowAdd(sum);
    if (!spare && lane() == 0) y[row()] = sum + bias[0];
}
