// Converts the fixed-point sums of the tables' gradients to floats.
//
//   df, dg [2h, TABLE], histogram [heads here, 2, 2, 2, TABLE], bounds [2h]
//
// An invocation computes one entry of both tables. Push: h, TABLE, the bits of fixed.glsl, the
// first head and the number of heads with sums.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "include/common.glsl"
#include "include/fixed.glsl"

layout(local_size_x = 256) in;
layout(push_constant) uniform Push { uint heads, table; int bits; uint firstHead, headsHere; };

OPERAND(1, writeonly, float, df);
OPERAND(2, writeonly, float, dg);
OPERAND(3, readonly, int, histogram);
OPERAND(4, readonly, float, bounds);

void main() {
    uint blocks = divideUp(table, 256), sums = group() / blocks; // sums of mul and add alternate
    uint t = group() % blocks * 256 + gl_LocalInvocationIndex;
    if (sums >= 2 * headsHere || t >= 2 * longest() - 1) return;
    uint row = sums % 2 * heads + firstHead + sums / 2;
    float unit = fixedUnit(bounds[row], bits);
    uint at = sums * 4 * table + t;
    df[row * table + t] = fixedValue(histogram[at], histogram[at + table], unit, bits);
    dg[row * table + t] = fixedValue(histogram[at + 2 * table], histogram[at + 3 * table], unit, bits);
}
