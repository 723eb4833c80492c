// y[t] = scale[t]·(x[t] + Σ_g table[row[t, g]]), the terms in their order and without
// those whose row is −1; y may be x.
//   y, x [rows, width], table [U, width], row [rows, groups], scale [rows]
//
// One workgroup processes 1024 elements.
//
//   push: extent, groups
#version 450
#extension GL_GOOGLE_include_directive : require
#include "include/common.glsl"
#include "include/aliased.glsl"
#include "include/elements.glsl"

layout(push_constant) uniform Push { EXTENT, groups; } push;

ALIASED(1, writeonly, float, y);
ALIASED(2, readonly, float, x);
OPERAND(3, readonly, float, table);
OPERAND(4, readonly, int, row);
OPERAND(5, readonly, float, scale);

void main() {
    EACH_ELEMENT(i) {
        uint t = i / push.width, c = i % push.width;
        precise float v = x[i];
        for (uint g = 0; g < push.groups; g++) {
            int u = row[t * push.groups + g];
            if (u >= 0) v += table[uint(u) * push.width + c];
        }
        y[i] = scale[t] * v;
    }
}
