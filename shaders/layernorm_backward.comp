// For each row, with x̂ = (x − mean)·rstd and g = gain·dy: dx (+)= rstd·(g − mean(g) −
// x̂·mean(g·x̂)). dx may be dy.
//   dx, dy, x [rows, width], mean, rstd [rows], gain [width]
//
// One workgroup processes 256/lanes rows.
//
//   constants: lanes per row; push: extent, accumulate
#version 450
#extension GL_GOOGLE_include_directive : require
#include "include/common.glsl"
#include "include/aliased.glsl"
#include "include/rows.glsl"

layout(push_constant) uniform Push { EXTENT; uint accumulate; } push;

ALIASED(1, , float, dx);
ALIASED(2, readonly, float, dy);
OPERAND(3, readonly, float, x);
OPERAND(4, readonly, float, mean);
OPERAND(5, readonly, float, rstd);
OPERAND(6, readonly, float, gain);

void main() {
    uint rows = usedRows(push.axis, push.capacity, push.first, push.rows), d = push.width;
    if (firstRow() >= rows) return;
    bool spare = row() >= rows;
    uint i = spare ? 0 : row(), at = i * d;
    float m = mean[i], r = rstd[i];

    float sum = 0, along = 0; // sums of g and of g·x̂
    if (!spare) { // otherwise another workgroup may be writing the row
        for (uint c = lane(); c < d; c += LANES) {
            precise float g = gain[c] * dy[at + c];
            sum += g;
            along += g * ((x[at + c] - m) * r);
        }
    }
    sum = rowAdd(sum) / d;
    along = rowAdd(along) / d;
    if (spare) return;
    for (uint c = lane(); c < d; c += LANES) {
        precise float g = gain[c] * dy[at + c]; // rounded as in mean(g): a row of one element has the gradient 0
        float v = r * (g - sum - (x[at + c] - m) * r * along);
        dx[at + c] = push.accumulate != 0 ? dx[at + c] + v : v;
    }
}
