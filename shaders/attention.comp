// Sampled attention. Per sequence and head, with the score m of a query and a key:
//
//   A_ij = m(q_i, k_j)/√dh · Rmul_ij + Radd_ij
//   o_i  = Σ_j P_ij v_j,  P = ReLU(A)/(Σ ReLU(A) + leak + ε), or softmax
//
//   o, q [T, d], norm [T, h], dead [1], k, v [S, d], leak [B, h], count [B], firstTokens, firstRows [B+1],
//   f, g, e [2h, TABLE], or the operands of relative_bias.glsl for other relations, p, top, partner [S]
//
// A workgroup processes 64 queries of one sequence and head. An invocation holds one query and
// processes every SLICES-th key. The keys are staged in shared memory, and adjacent invocations
// read adjacent entries of the tables. No matrix [T, S] is stored. A launch binds the rows of o,
// norm and q from `first` on, and processes the tiles that begin among the first `span` rows. Each
// pass over the channels of o has separate workgroups.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "include/common.glsl"
#include "include/math.glsl"
#include "include/attention.glsl"
#include "include/attention_rows.glsl"
#include "include/tiles.glsl"

layout(constant_id = 10) const bool LONG = false; // true if a sum may have more than 1024 keys
layout(local_size_x_id = 7) in; // ROWS·SLICES invocations
layout(push_constant) uniform Push { uint heads, d, table; float scale; uint hasDead, firstTile, first, span; };

OPERAND(1, writeonly, float, o);
OPERAND(2, writeonly, float, norm);
OPERAND(3, , uint, dead);
OPERAND(4, readonly, float, q);
OPERAND(5, readonly, float, k);
OPERAND(6, readonly, float, v);
OPERAND(7, readonly, float, leak);
OPERAND(8, readonly, uint, count);
OPERAND(9, readonly, uint, firstTokens);
OPERAND(10, readonly, uint, firstRows);
OPERAND(11, readonly, float, f);
OPERAND(12, readonly, float, g);
OPERAND(13, readonly, uint, e);
OPERAND(14, readonly, float, p);
OPERAND(15, readonly, uint, top);
OPERAND(16, readonly, int, partner);

#define TABLE table
#define HEADS_OF heads
#include "include/relative_bias.glsl"
#include "include/edge_hits.glsl"

shared float keyP[64];
shared uint keyTop[64];
shared uint keyPartner[64];
shared float sliceTop[ROWS * SLICES], sliceSum[ROWS * SLICES];

const float EPSILON = 1e-9, LOWEST = -3.4e38;

// loadKeys loads n rows of k and v from packed row `from` on.
void loadKeys(uint from, uint n, uint head) {
    LOAD_TILE(k, v, from, n, head)
    uint j = gl_LocalInvocationIndex;
    if (RELATIVE && j < n) {
        keyP[j] = p[from + j];
        keyTop[j] = top[from + j];
        // A key without a partner serves as its own partner, with weight 0, as p is 1.
        keyPartner[j] = partner[from + j] < 0 ? top[from + j] : uint(partner[from + j]);
    }
}

void main() {
    uint firstVector = group() % PASSES * SUMS, index = group() / PASSES;
    uint head = index % heads;
    Tile t;
    TILE_OF(firstTokens, firstTile + index / heads, ROWS, t);
    if (t.from >= t.to || t.b >= counts[2] || outside(t.from, first, span)) return;
    uint slot = gl_LocalInvocationIndex % ROWS, slice = gl_LocalInvocationIndex / ROWS;
    uint row = min(t.from + slot, t.to - 1), i = row - t.first;
    row -= first;
    uint place = i - (t.from - t.first); // index among the queries of the workgroup
    origin = t.first;
    if (RELATION == EDGES) setBare(head);

    vec4 query[VECTORS], part[SUMS], total[SUMS];
    LOAD_ROW(query, 0, q, row, head)
    for (uint c = 0; c < SUMS; c++) {
        part[c] = vec4(0);
        total[c] = vec4(0);
    }
    float sum = 0, totalSum = 0, highest = LOWEST;

    uint keys = count[t.b], firstKey = firstRows[t.b];
    for (uint from = 0; from < keys; from += TILE) {
        uint n = min(TILE, keys - from);
        if (LONG && from % 1024 == 0) { // limits a chain of additions to 256
            for (uint c = 0; c < SUMS; c++) {
                total[c] += part[c];
                part[c] = vec4(0);
            }
            totalSum += sum;
            sum = 0;
        }
        barrier();
        loadKeys(firstKey + from, n, head);
        if (RELATION == EDGES) {
            barrier();
            for (uint at = gl_LocalInvocationIndex; at < 2 * n; at += ROWS * SLICES)
                findHits(at, at % 2 == 0 ? keyTop[at / 2] : keyPartner[at / 2], t.from - t.first);
        }
        barrier();
        for (uint j = slice; j < n; j += SLICES) {
            Entry x, y;
            if (RELATIVE) {
                x = RELATION == EDGES ? entryOfEdge(head, hitOf(2 * j, place)) : entryOf(head, i, keyTop[j]);
                y = RELATION == EDGES ? entryOfEdge(head, hitOf(2 * j + 1, place)) : entryOf(head, i, keyPartner[j]);
            }
            float m;
            SCORE_OF(OWN(query, 0, c), tile[j * VECTORS + c], m);
            float a = m * scale;
            if (RELATIVE) {
                float w = keyP[j];
                a = a * (w * soft(x) + (1 - w) * soft(y)) + (w * x.add + (1 - w) * y.add);
            }
            float weight;
            if (PROBABILITY == SOFTMAX) {
                if (a > highest) { // rescale the previous sums
                    float shrink = Exp(highest - a);
                    highest = a;
                    for (uint c = 0; c < SUMS; c++) {
                        part[c] *= shrink;
                        if (LONG) total[c] *= shrink;
                    }
                    sum *= shrink;
                    if (LONG) totalSum *= shrink;
                }
                weight = Exp(a - highest);
            } else {
                weight = floorZero(a);
            }
            sum += weight;
            for (uint c = 0; c < SUMS; c++) {
                uint at = min(firstVector + c, VECTORS - 1); // vectors beyond the end are computed, but not written
                part[c] += weight * tile[(TILE + j) * VECTORS + at];
            }
        }
    }
    if (LONG) {
        sum += totalSum;
        for (uint c = 0; c < SUMS; c++) part[c] += total[c];
    }

    // Add the sums of the slices in order.
    barrier();
    sliceTop[gl_LocalInvocationIndex] = highest;
    barrier();
    if (PROBABILITY == SOFTMAX) {
        float most = LOWEST;
        for (uint s = 0; s < SLICES; s++) most = max(most, sliceTop[s * ROWS + slot]);
        float shrink = Exp(highest - most);
        if (!(highest > LOWEST)) shrink = 0;
        highest = most;
        sum *= shrink;
        for (uint c = 0; c < SUMS; c++) part[c] *= shrink;
    }
    sliceSum[gl_LocalInvocationIndex] = sum;
    barrier();
    sum = 0;
    for (uint s = 0; s < SLICES; s++) sum += sliceSum[s * ROWS + slot];
    bool writes = slice == 0 && firstVector == 0 && t.from + slot < t.to;
    if (PROBABILITY != SOFTMAX) {
        if (hasDead != 0 && writes && sum == 0) atomicAdd(dead[0], 1);
        if (PROBABILITY == LEAKY) sum += leak[t.b * heads + head];
        sum += EPSILON;
    }
    if (writes) norm[row * heads + head] = PROBABILITY == SOFTMAX ? highest + Log(sum) : sum;
    float inverse = 1 / sum;
    for (uint c = 0; c < SUMS; c++) part[c] *= inverse;
    SUM_SLICES(part, SUMS, firstVector * 4, o, t.from - first, t.to - t.from, head)
}
