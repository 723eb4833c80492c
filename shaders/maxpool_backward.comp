// dx_ic = dy_c for the row i = arg_c of the sequence. dx must be zero before the first launch. A launch processes
// the rows of one block of dx.
//   dx [block, width], dy, arg [B, width], offset [B+1]: first row of each sequence
//
// One workgroup processes 1024 elements of dy.
//
//   push: extent, first row and number of rows of the block
#version 450
#extension GL_GOOGLE_include_directive : require
#include "include/common.glsl"
#include "include/elements.glsl"

layout(push_constant) uniform Push { EXTENT, from, block; } push;

OPERAND(1, writeonly, float, dx);
OPERAND(2, readonly, float, dy);
OPERAND(3, readonly, uint, arg);
OPERAND(4, readonly, uint, offset);

void main() {
    EACH_ELEMENT(i) {
        uint row = offset[push.first + i / push.width] + arg[i] - push.from; // wraps for rows in front of the block
        if (row < push.block) dx[row * push.width + i % push.width] = dy[i];
    }
}
