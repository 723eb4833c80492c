// Values per row, and bounds per head, that the backward pass of attention needs:
//
//   share[i, n] = DO_i · O_i of head n
//   bounds[n], bounds[h + n]: bounds of |dA·m|/√dh, the gradient of Rmul, and of |dA|, over all pairs
//
// The fixed-point sums of attention_backward_queries need the bounds. With the largest norms of k
// and v of a head:
//
//   |dA| ≤ (‖DO_i‖·‖v‖ + |share|)/norm_i,  |m|/√dh ≤ 2(‖q_i‖ + ‖k‖) + 2√dh; ‖q_i‖·‖k‖/√dh for DOT
//
//   o, gradient (DO), q [T, d], norm [T, h], keys [2h]: largest norms of k, then of v
//
// Atomics compute maxima of the bits of non-negative floats, so their order does not matter. There
// is one invocation per row and head, for the rows from `first` on.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "include/common.glsl"
#include "include/attention.glsl"

layout(local_size_x = 256) in;
layout(push_constant) uniform Push { uint heads, d, table; float scale; uint capacity, first, rows; };

OPERAND(1, writeonly, float, share);
OPERAND(2, , uint, bounds);
OPERAND(3, readonly, float, gradient);
OPERAND(4, readonly, float, o);
OPERAND(5, readonly, float, norm);
OPERAND(6, readonly, float, q);
OPERAND(7, readonly, float, keys);

void main() {
    uint at = group() * 256 + gl_LocalInvocationID.x;
    uint i = at / heads, head = at % heads;
    if (i >= rows || first + i >= used(1, capacity)) return;
    float sum = 0, outer = 0, query = 0;
    for (uint c = 0; c < CHANNELS; c++) {
        uint word = i * d + head * CHANNELS + c;
        float x = gradient[word], y = q[word];
        sum += x * o[word];
        outer += x * x;
        query += y * y;
    }
    share[at] = sum;
    // A norm of EPSILON means that no score is positive, so the row has no gradient.
    if (PROBABILITY == RELU && norm[at] <= 1e-9) return;
    // For softmax, P ≤ 1 replaces 1/norm.
    float inverse = PROBABILITY == SOFTMAX ? 1 : 1 / norm[at];
    float most = (sqrt(outer) * keys[heads + head] + abs(sum)) * inverse * 1.001;
    query = sqrt(query);
    float score = SCORE == DOT ? query * keys[head] * scale : 2 * (query + keys[head]) + 2 / scale;
    atomicMax(bounds[head], floatBitsToUint(abs(most * score)));
    atomicMax(bounds[heads + head], floatBitsToUint(most));
}
