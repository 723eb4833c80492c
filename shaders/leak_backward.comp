// dc[r, n] = dy[b, n]·σ(c[r, n]) for the sampled keys r of sequence b, and 0 for its unused rows.
//   dc, c [S, heads], dy [B, heads], count [B], firstRows [B+1]: first
//   sampled row of each sequence
//
// One workgroup processes 1024 elements.
//
//   push: extent
#version 450
#extension GL_GOOGLE_include_directive : require
#include "include/common.glsl"
#include "include/elements.glsl"
#include "include/math.glsl"

layout(push_constant) uniform Push { EXTENT; } push;

OPERAND(1, writeonly, float, dc);
OPERAND(2, readonly, float, dy);
OPERAND(3, readonly, float, c);
OPERAND(4, readonly, uint, count);
OPERAND(5, readonly, uint, firstRows);

#include "include/sequence.glsl"

void main() {
    EACH_ELEMENT(i) {
        uint r = push.first + i / push.width, head = i % push.width, b = sequenceOf(r);
        dc[i] = r - firstRows[b] < count[b] ? dy[b * push.width + head] * Sigmoid(c[i]) : 0;
    }
}
