// y[t] = scale[t]·(x[t] + Σ_g table[row[t, g]]) for g = from … to−1, in this order. Terms are
// skipped if row is −1 or not in the bound block of the table. If `scaled` is 0, the factor scale
// is omitted. y may be x.
//   y, x [rows, width], row [rows, groups], scale [rows], table [tableRows, width] from row tableFirst on
//
// One workgroup processes 1024 elements.
//
//   push: extent, groups, from, to, tableFirst, tableRows, scaled
#version 450
#extension GL_GOOGLE_include_directive : require
#include "include/common.glsl"
#include "include/aliased.glsl"
#include "include/elements.glsl"

layout(push_constant) uniform Push { EXTENT, groups, from, to, tableFirst, tableRows, scaled; } push;

ALIASED(1, writeonly, float, y);
ALIASED(2, readonly, float, x);
OPERAND(3, readonly, float, table);
OPERAND(4, readonly, int, row);
OPERAND(5, readonly, float, scale);

void main() {
    EACH_ELEMENT(i) {
        uint t = i / push.width, c = i % push.width;
        precise float v = x[i];
        for (uint g = push.from; g < push.to; g++) {
            int u = row[t * push.groups + g];
            uint at = uint(u) - push.tableFirst;
            if (u >= 0 && at < push.tableRows) v += table[at * push.width + c];
        }
        if (push.scaled != 0) v = scale[t] * v;
        y[i] = v;
    }
}
