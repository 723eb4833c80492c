// The backward pass of sampled attention for the keys. With dA as in
// attention_backward_queries.comp, it computes sums over a chunk of queries:
//
//   DK_j = Σ_i dA_ij·Rmul_ij/√dh · ∂m/∂k_j,  DV_j = Σ_i P_ij DO_i
//   DP_j = Σ_i dA_ij·(m·(soft_top − soft_partner)/√dh + add_top − add_partner)
//
// and, for distances and edges, the gradients of the relation's weights.
//
//   dk, dv [chunks, S, d], dp [chunks, S, h, numbers]: DP_j, then the gradients of the weights
//   and the bias of Rmul, then of Radd; other operands as in attention_backward_queries.comp
//
// A workgroup processes 64 sampled rows of one sequence for one head and one chunk of queries. An
// invocation holds one key and processes every SLICES-th query of a tile. A sequence has at most 32
// chunks, which depend only on its length; all but the last have at least 128 queries. A launch has
// memory for some of the chunks. It binds the rows of the queries from `firstRow` on, and processes the chunks that
// begin among the first `span` rows. Each pass over the channels of DK and DV has separate
// workgroups.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "include/common.glsl"
#include "include/math.glsl"
#include "include/attention.glsl"
#include "include/attention_rows.glsl"
#include "include/chunks.glsl"
#include "include/tiles.glsl"

layout(local_size_x_id = 7) in; // ROWS·SLICES invocations
layout(push_constant) uniform Push { uint heads, d, table; float scale; uint capacity, firstChunk, chunks, firstRow, span; };

OPERAND(1, writeonly, float, dk);
OPERAND(2, writeonly, float, dv);
OPERAND(3, writeonly, float, dp);
OPERAND(4, readonly, float, gradient);
OPERAND(5, readonly, float, norm);
OPERAND(6, readonly, float, share);
OPERAND(7, readonly, float, q);
OPERAND(8, readonly, float, k);
OPERAND(9, readonly, float, v);
OPERAND(10, readonly, uint, count);
OPERAND(11, readonly, uint, firstTokens);
OPERAND(12, readonly, uint, firstRows);
OPERAND(13, readonly, float, f);
OPERAND(14, readonly, float, g);
OPERAND(15, readonly, uint, e);
OPERAND(16, readonly, float, p);
OPERAND(17, readonly, uint, top);
OPERAND(18, readonly, int, partner);

#define TABLE table
#define HEADS_OF heads
#include "include/relative_bias.glsl"

shared float rowNorm[64], rowShare[64];
shared float sliceSum[ROWS * SLICES];

void main() {
    uint firstVector = group() % PASSES * SUMS, index = group() / PASSES;
    uint chunk = firstChunk + index % chunks, head = index / chunks % heads;
    Tile t;
    TILE_OF(firstRows, index / chunks / heads, ROWS, t);
    if (t.b >= counts[2]) return;
    uint end = min(t.to, t.first + count[t.b]); // end of the rows in use
    uint first = firstTokens[t.b], length = firstTokens[t.b + 1] - first;
    uint size = chunkSize(length);
    if (t.from >= end || chunk * size >= length || outside(first + chunk * size, firstRow, span)) return;
    origin = first;
    first -= firstRow; // may wrap below 0; first + from does not
    uint slot = gl_LocalInvocationIndex % ROWS, slice = gl_LocalInvocationIndex / ROWS;
    uint row = min(t.from + slot, end - 1);

    vec4 key[VECTORS], value[VECTORS], dKey[SUMS], dValue[SUMS];
    LOAD_ROW(key, 1, k, row, head)
    LOAD_ROW(value, 0, v, row, head)
    for (uint c = 0; c < SUMS; c++) {
        dKey[c] = vec4(0);
        dValue[c] = vec4(0);
    }
    const bool WEIGHED = RELATION == DISTANCE || RELATION == EDGES;
    uint numbers = WEIGHED ? 2 * FEATURES + 3 : 1;
    float w = 1, dWeight = 0;
    float dMul[FEATURES + 1], dAdd[FEATURES + 1]; // gradients of the weights of features, and of the bias
    for (uint c = 0; c <= FEATURES; c++) {
        dMul[c] = 0;
        dAdd[c] = 0;
    }
    uint own = 0, other = 0;
    if (RELATIVE) {
        w = p[row];
        own = top[row];
        other = partner[row] < 0 ? own : uint(partner[row]); // own: the difference is 0
    }
    // The next edges into the two tokens. They advance, as an invocation processes its queries in
    // order.
    uint ownEdge = 0, ownEnd = 0, otherEdge = 0, otherEnd = 0;
    if (RELATION == EDGES) {
        setBare(head);
        ownEdge = edgesFrom(chunk * size, own, ownEnd);
        otherEdge = edgesFrom(chunk * size, other, otherEnd);
    }

    for (uint from = chunk * size; from < min(length, (chunk + 1) * size); from += TILE) {
        uint n = min(TILE, min(length, (chunk + 1) * size) - from);
        barrier();
        LOAD_TILE(q, gradient, first + from, n, head)
        uint at = gl_LocalInvocationIndex;
        if (at < n) {
            rowNorm[at] = norm[(first + from + at) * heads + head];
            rowShare[at] = share[(first + from + at) * heads + head];
        }
        barrier();
        for (uint r = slice; r < n; r += SLICES) {
            uint i = from + r;
            Entry x, y;
            if (RELATION == EDGES) {
                while (ownEdge < ownEnd && sourceOf(ownEdge) < i) ownEdge++;
                while (otherEdge < otherEnd && sourceOf(otherEdge) < i) otherEdge++;
                x = entryOfEdge(head, ownEdge < ownEnd && sourceOf(ownEdge) == i ? ownEdge : NO_EDGE);
                y = entryOfEdge(head, otherEdge < otherEnd && sourceOf(otherEdge) == i ? otherEdge : NO_EDGE);
            } else if (RELATIVE) {
                x = entryOf(head, i, own);
                y = entryOf(head, i, other);
            }
            float m;
            SCORE_OF(tile[r * VECTORS + c], OWN(key, 1, c), m);
            m *= scale;
            float a = m, mul = 1, softX, softY, slopeX, slopeY;
            if (RELATIVE) {
                softX = WEIGHED ? softBackward(x, slopeX) : soft(x);
                softY = WEIGHED ? softBackward(y, slopeY) : soft(y);
                mul = w * softX + (1 - w) * softY;
                a = a * mul + (w * x.add + (1 - w) * y.add);
            }
            vec4 products = vec4(0);
            for (uint c = 0; c < VECTORS; c++) products += tile[(TILE + r) * VECTORS + c] * OWN(value, 0, c);
            float da = (products.x + products.y) + (products.z + products.w) - rowShare[r];
            float weight;
            if (PROBABILITY == SOFTMAX) {
                weight = Exp(a - rowNorm[r]);
                da *= weight;
            } else {
                float inverse = 1 / rowNorm[r];
                weight = floorZero(a) * inverse;
                da = a <= 0 ? 0 : da * inverse;
            }
            if (RELATIVE) dWeight += da * (m * (softX - softY) + (x.add - y.add));
            if (WEIGHED) {
                float shareX = w * slopeX, shareY = (1 - w) * slopeY;
                dMul[FEATURES] += da * m * (shareX + shareY);
                dAdd[FEATURES] += da * (w + (1 - w));
                for (uint c = 0; c < FEATURES && (RELATION == DISTANCE || x.f != NO_EDGE || y.f != NO_EDGE); c++) {
                    float ax, ay;
                    if (RELATION == DISTANCE) {
                        ax = x.pair[c];
                        ay = y.pair[c];
                    } else {
                        ax = x.f == NO_EDGE ? 0 : f[x.f * FEATURES + c];
                        ay = y.f == NO_EDGE ? 0 : f[y.f * FEATURES + c];
                    }
                    dMul[c] += da * m * (shareX * ax + shareY * ay);
                    dAdd[c] += da * (w * ax + (1 - w) * ay);
                }
            }
            float dm = da * mul * scale;
            for (uint c = 0; c < SUMS; c++) {
                uint at = min(firstVector + c, VECTORS - 1); // vectors beyond the end are computed, but not written
                dKey[c] += dm * keyShare(tile[r * VECTORS + at + AGAIN], OWN_AGAIN(key, 1, at));
                dValue[c] += weight * tile[(TILE + r) * VECTORS + at + AGAIN];
            }
        }
    }
    uint part = (chunk - firstChunk) * capacity + t.from, n = end - t.from;
    SUM_SLICES(dKey, SUMS, firstVector * 4, dk, part, n, head)
    SUM_SLICES(dValue, SUMS, firstVector * 4, dv, part, n, head)
    for (uint at = 0; RELATIVE && firstVector == 0 && at < numbers; at++) {
        uint feature = at == 0 ? 0 : (at - 1) % (FEATURES + 1);
        barrier();
        sliceSum[gl_LocalInvocationIndex] = at == 0 ? dWeight : at <= FEATURES + 1 ? dMul[feature] : dAdd[feature];
        barrier();
        if (slice == 0 && slot < n) {
            float sum = 0;
            for (uint s = 0; s < SLICES; s++) sum += sliceSum[s * ROWS + slot];
            dp[((part + slot) * heads + head) * numbers + at] = sum;
        }
    }
}
