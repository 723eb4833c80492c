#version 450
#extension GL_GOOGLE_include_directive : require
// The gradients of the weights and biases, from the parts of sinusoid_backward.comp. With the sums
// f and g of all parts of row r and frequency c, in order:
//
//   dw_r[2c] = ½(f − g), dw_r[2c+1] = ½(f + g) for c < half, db_r = f for c = half
//
//   dmul, dadd [h, 2·half], dmulBias, daddBias [h], parts [chunks, 2h, half + 1] pairs
//
// One invocation processes one row and frequency. Push: rows (2h), half, maximum number of chunks.
#include "include/common.glsl"
#include "include/tables.glsl"

layout(push_constant) uniform Launch { uint rows, half_, chunks; } launch;

OPERAND(1, writeonly, float, dmul);
OPERAND(2, writeonly, float, dadd);
OPERAND(3, writeonly, float, dmulBias);
OPERAND(4, writeonly, float, daddBias);
OPERAND(5, readonly, vec2, parts);

void main() {
    uint i = group() * 256 + gl_LocalInvocationIndex, terms = launch.half_ + 1, size = launch.rows * terms;
    if (i >= size) return;
    uint n = 2 * longest() - 1, chunks = divideUp(n, chunkLength(n, launch.chunks));
    vec2 sum = parts[i];
    for (uint p = 1; p < chunks; p++) sum += parts[p * size + i];

    uint heads = launch.rows / 2, r = i / terms, c = i % terms;
    uint head = r < heads ? r : r - heads, at = 2 * (head * launch.half_ + c);
    vec2 d = 0.5 * vec2(sum.x - sum.y, sum.x + sum.y);
    if (r < heads) {
        if (c == launch.half_) dmulBias[head] = sum.x;
        else {
            dmul[at] = d.x;
            dmul[at + 1] = d.y;
        }
    } else {
        if (c == launch.half_) daddBias[head] = sum.x;
        else {
            dadd[at] = d.x;
            dadd[at + 1] = d.y;
        }
    }
}
