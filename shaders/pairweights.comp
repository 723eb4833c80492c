// Packs the weights of a relation on pair features into one row per head:
//
//   w[h] = mul[h], mulBias[h], add[h], addBias[h]
//
//   w [h, 2r + 2], mul, add [h, r], mulBias, addBias [h]
//
// One invocation writes one word. Push: h, r.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "include/common.glsl"

layout(local_size_x = 64) in;
layout(push_constant) uniform Push { uint heads, r; };

OPERAND(1, writeonly, float, w);
OPERAND(2, readonly, float, mul);
OPERAND(3, readonly, float, mulBias);
OPERAND(4, readonly, float, add);
OPERAND(5, readonly, float, addBias);

void main() {
    uint i = group() * 64 + gl_LocalInvocationID.x, width = r + 1;
    if (i >= heads * 2 * width) return;
    uint head = i / (2 * width), half_ = i / width % 2, c = i % width;
    if (half_ == 0) w[i] = c < r ? mul[head * r + c] : mulBias[head];
    else w[i] = c < r ? add[head * r + c] : addBias[head];
}
