// Splits the gradients d of each sampled key and head, from attention_backward_sum, and also splits
// the sums of d over the keys:
//
//   dp[j, h] = d[j, h, 0]; sums[h, 1 …] are the gradients of mul, mulBias, add, addBias
//
//   dmul, dadd [h, r], dmulBias, daddBias [h], dp [S, h], d [S, h, 2r + 3], sums [h, 2r + 3]
//
// An invocation writes one word of dp and one of the other gradients. Push: h, r, capacity of S.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "include/common.glsl"

layout(local_size_x = 256) in;
layout(push_constant) uniform Push { uint heads, r, capacity; };

OPERAND(1, writeonly, float, dmul);
OPERAND(2, writeonly, float, dmulBias);
OPERAND(3, writeonly, float, dadd);
OPERAND(4, writeonly, float, daddBias);
OPERAND(5, writeonly, float, dp);
OPERAND(6, readonly, float, d);
OPERAND(7, readonly, float, sums);

void main() {
    uint i = group() * 256 + gl_LocalInvocationIndex, width = 2 * r + 3;
    if (i < used(3, capacity) * heads) dp[i] = d[i * width];
    if (i >= heads * width || i % width == 0) return;
    uint head = i / width, at = i % width - 1, c = at % (r + 1);
    if (at <= r) {
        if (c < r) dmul[head * r + c] = sums[i];
        else dmulBias[head] = sums[i];
    } else {
        if (c < r) dadd[head * r + c] = sums[i];
        else daddBias[head] = sums[i];
    }
}
