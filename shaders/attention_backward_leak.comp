// The gradient of the leak of a sequence b and head n:
//
//   dleak[b, n] = −Σ_i share[i, n]/norm[i, n]
//
//   dleak [B, h], share, norm [T, h], firstTokens [B+1]
//
// A workgroup processes one sequence and head. An invocation adds every 256th row.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "include/common.glsl"
#include "include/reduce.glsl"

layout(local_size_x = 256) in;
layout(push_constant) uniform Push { uint heads; };

OPERAND(1, writeonly, float, dleak);
OPERAND(2, readonly, float, share);
OPERAND(3, readonly, float, norm);
OPERAND(4, readonly, uint, firstTokens);

void main() {
    uint b = group() / heads, head = group() % heads;
    if (b >= counts[2]) return;
    float sum = 0;
    for (uint i = firstTokens[b] + gl_LocalInvocationIndex; i < firstTokens[b + 1]; i += 256)
        sum -= share[i * heads + head] / norm[i * heads + head];
    sum = reduceAdd(sum);
    if (gl_LocalInvocationIndex == 0) dleak[b * heads + head] = sum;
}
