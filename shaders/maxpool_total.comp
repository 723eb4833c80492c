// The second step of max pooling: y is the maximum over the chunks of a sequence, and arg its row
// in the sequence.
//   y, arg [B, width], top, at [parts, width], offset [B+1]
//
// One workgroup processes 64 columns of one sequence.
//
//   push: axis and capacity of the sequences, width
#version 450
#extension GL_GOOGLE_include_directive : require
#include "include/common.glsl"
#include "include/columns.glsl"
#include "include/maxpool.glsl"

layout(push_constant) uniform Push { uint axis, capacity, width; } push;

OPERAND(1, writeonly, float, y);
OPERAND(2, writeonly, uint, arg);
OPERAND(3, readonly, float, top);
OPERAND(4, readonly, uint, at);
OPERAND(5, readonly, uint, offset);

#include "include/pooling.glsl"

void main() {
    uint across = divideUp(push.width, COLUMNS), b = group() / across;
    if (b >= used(push.axis, push.capacity)) return;
    uint base = offset[b], length = offset[b + 1] - base;
    uint pieces = divideUp(length, pieceRows(length)), first = firstPart(base, b);

    uint c = group() % across * COLUMNS + column();
    Largest found = Largest(0, NOWHERE);
    if (c < push.width) {
        for (uint p = lane(); p < pieces; p += LANES) {
            uint part = (first + p) * push.width + c;
            found = larger(found, Largest(top[part], at[part]));
        }
    }
    found = columnLargest(found);
    if (lane() == 0 && c < push.width) {
        y[b * push.width + c] = found.value;
        arg[b * push.width + c] = found.row;
    }
}
