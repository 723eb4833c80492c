// y[b, n] = Σ_r softplus(c[r, n]) over the sampled keys r of sequence b.
//   y [B, heads], c [S, heads], count [B], firstRows [B+1]: first
//   sampled row of each sequence
//
// One workgroup processes one sum.
//
//   push: axis, capacity of y, heads
#version 450
#extension GL_GOOGLE_include_directive : require
#include "include/common.glsl"
#include "include/math.glsl"
#include "include/reduce.glsl"

layout(local_size_x = 256) in;

layout(push_constant) uniform Push { uint axis, capacity, heads; } push;

OPERAND(1, writeonly, float, y);
OPERAND(2, readonly, float, c);
OPERAND(3, readonly, uint, count);
OPERAND(4, readonly, uint, firstRows);

const uint SPAN = 32 * 256; // number of keys whose sum is added to the total

void main() {
    uint b = group() / push.heads, head = group() % push.heads;
    if (b >= used(push.axis, push.capacity)) return;
    uint n = count[b], base = firstRows[b] * push.heads + head;
    float total = 0;
    for (uint at = 0; at < n; at += SPAN) {
        float sum = 0;
        for (uint j = at + gl_LocalInvocationIndex; j < min(n, at + SPAN); j += 256) sum += Softplus(c[base + j * push.heads]);
        total += sum;
    }
    total = reduceAdd(total);
    if (gl_LocalInvocationIndex == 0) y[group()] = total;
}
