// The gradients of the tables from their fixed-point sums.
//
//   df, dg [2h, TABLE], histogram [2h, 2, 2, TABLE], bounds [2h]
//
// An invocation has one entry of both. Push: TABLE, the bits of fixed.glsl.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "include/common.glsl"
#include "include/fixed.glsl"

layout(local_size_x = 256) in;
layout(push_constant) uniform Push { uint rows, table; int bits; };

OPERAND(1, writeonly, float, df);
OPERAND(2, writeonly, float, dg);
OPERAND(3, readonly, int, histogram);
OPERAND(4, readonly, float, bounds);

void main() {
    uint blocks = divideUp(table, 256), row = group() / blocks;
    uint t = group() % blocks * 256 + gl_LocalInvocationIndex;
    if (row >= rows || t >= 2 * longest() - 1) return;
    float unit = fixedUnit(bounds[row], bits);
    uint at = row * 4 * table + t;
    df[row * table + t] = fixedValue(histogram[at], histogram[at + table], unit, bits);
    dg[row * table + t] = fixedValue(histogram[at + 2 * table], histogram[at + 3 * table], unit, bits);
}
