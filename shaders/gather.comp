// y[i] = x[row[i]], or 0 where row[i] is −1. A launch does the rows of one block of x; that
// of the first block clears all others, which the launches of later blocks write.
//   y [rows, width], x [block, width], row [rows]
//
// One workgroup processes 1024 elements.
//
//   push: extent, first row of the block, its rows
#version 450
#extension GL_GOOGLE_include_directive : require
#include "include/common.glsl"
#include "include/elements.glsl"

layout(push_constant) uniform Push { EXTENT, from, block; } push;

OPERAND(1, writeonly, float, y);
OPERAND(2, readonly, float, x);
OPERAND(3, readonly, uint, row); // −1 is outside of every block

void main() {
    EACH_ELEMENT(i) {
        uint r = row[i / push.width] - push.from;
        if (r < push.block) y[i] = x[r * push.width + i % push.width];
        else if (push.from == 0) y[i] = 0;
    }
}
