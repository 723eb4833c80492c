// For each row: y = gain·(x − mean)·rstd + bias with rstd = 1/√(variance + eps).
//   y, x [rows, width], mean, rstd [rows], gain, bias [width]
//
// One workgroup processes 256/lanes rows. It reads them three times, the second and third time from
// the cache.
//
//   constants: lanes per row; push: extent, eps
#version 450
#extension GL_GOOGLE_include_directive : require
#include "include/common.glsl"
#include "include/rows.glsl"

layout(push_constant) uniform Push { EXTENT; float eps; } push;

OPERAND(1, writeonly, float, y);
OPERAND(2, writeonly, float, mean);
OPERAND(3, writeonly, float, rstd);
OPERAND(4, readonly, float, x);
OPERAND(5, readonly, float, gain);
OPERAND(6, readonly, float, bias);

void main() {
    uint rows = usedRows(push.axis, push.capacity, push.first, push.rows), d = push.width;
    if (firstRow() >= rows) return;
    bool spare = row() >= rows;
    uint at = spare ? 0 : row() * d;

    float sum = 0;
    for (uint c = lane(); c < d; c += LANES) sum += x[at + c];
    float m = rowAdd(sum) / d;
    float squares = 0;
    for (uint c = lane(); c < d; c += LANES) {
        float v = x[at + c] - m;
        squares += v * v;
    }
    float r = 1 / sqrt(rowAdd(squares) / d + push.eps);
    if (spare) return;
    for (uint c = lane(); c < d; c += LANES) y[at + c] = gain[c] * ((x[at + c] - m) * r) + bias[c];
    if (lane() == 0) {
        mean[row()] = m;
        rstd[row()] = r;
    }
}
