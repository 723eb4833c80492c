// part[p] = Σ x² over chunk p of x. A second launch without squaring adds the parts.
//   x [n], part [chunks]
//
// One workgroup processes one chunk.
//
//   constants: whether to square; push: n, words per chunk
#version 450
#extension GL_GOOGLE_include_directive : require
#include "include/common.glsl"
#include "include/reduce.glsl"

layout(local_size_x = 256) in;
layout(constant_id = 0) const bool SQUARE = true;

layout(push_constant) uniform Push { uint n, words; } push;

OPERAND(1, writeonly, float, part);
OPERAND(2, readonly, float, x);

const uint SPAN = 32 * 256; // number of words whose sum is added to the total

void main() {
    uint piece = group();
    if (piece >= divideUp(push.n, push.words)) return;
    uint end = min(push.n, (piece + 1) * push.words);
    float total = 0;
    for (uint at = piece * push.words; at < end; at += SPAN) {
        float sum = 0;
        for (uint i = at + gl_LocalInvocationIndex; i < min(end, at + SPAN); i += 256) sum += SQUARE ? x[i] * x[i] : x[i];
        total += sum;
    }
    total = reduceAdd(total);
    if (gl_LocalInvocationIndex == 0) part[piece] = total;
}
