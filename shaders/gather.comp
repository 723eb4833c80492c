// y[i] = x[row[i]], or 0 if row[i] is −1. A dispatch writes the rows of y that come from one block of
// x. The dispatch for the first block also sets all other rows of y to 0.
//   y [rows, width], x [block, width], row [rows]
//
// One workgroup processes 1024 elements.
//
//   push: extent, first row and number of rows of the block
#version 450
#extension GL_GOOGLE_include_directive : require
#include "include/common.glsl"
#include "include/elements.glsl"

layout(push_constant) uniform Push { EXTENT, from, block; } push;

OPERAND(1, writeonly, float, y);
OPERAND(2, readonly, float, x);
OPERAND(3, readonly, uint, row); // −1 is outside every block

void main() {
    EACH_ELEMENT(i) {
        uint r = row[i / push.width] - push.from;
        if (r < push.block) y[i] = x[r * push.width + i % push.width];
        else if (push.from == 0) y[i] = 0;
    }
}
