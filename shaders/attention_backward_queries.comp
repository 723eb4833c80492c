// The backward pass of sampled attention for the queries. With share_i = DO_i·O_i:
//
//   dA_ij = [A_ij > 0]·(DO_i·v_j − share_i)/norm_i   (softmax: P_ij(DO_i·v_j − share_i))
//   DQ_i  = Σ_j dA_ij·Rmul_ij/√dh · ∂m/∂q_i
//
// and the gradients of the tables f and g: sums of dA_ij·m/√dh·∂Rmul_ij and of dA_ij·∂Radd_ij for each
// i − j and i + j, in fixed point. See fixed.glsl.
//
//   dq, gradient, q [T, d], histogram [heads here, 2, 2, 2, TABLE]: for mul and add,
//   high and low parts of f, then of g; norm, share [T, h], bounds [2h], other operands
//   as in attention.comp
//
// The work is divided as in attention.comp, but without passes, and a launch can process some of
// the heads. The kernel recomputes the scores. It sums histograms in shared memory: see tally.glsl.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "include/common.glsl"
#include "include/math.glsl"
#include "include/attention.glsl"
#include "include/attention_rows.glsl"
#include "include/tiles.glsl"
#include "include/fixed.glsl"

layout(local_size_x_id = 7) in; // ROWS·SLICES invocations
layout(push_constant) uniform Push { uint heads, d, table; float scale; int bits; uint firstHead, headsHere, firstTile, first, span; };

OPERAND(1, writeonly, float, dq);
OPERAND(2, , int, histogram);
OPERAND(3, readonly, float, gradient);
OPERAND(4, readonly, float, norm);
OPERAND(5, readonly, float, share);
OPERAND(6, readonly, float, bounds);
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
#include "include/edge_hits.glsl"

shared float keyP[64];
shared uint keyTop[64];
shared uint keyPartner[64];

#include "include/tally.glsl"

void main() {
    uint head = firstHead + group() % headsHere;
    Tile t;
    TILE_OF(firstTokens, firstTile + group() / headsHere, ROWS, t);
    if (t.from >= t.to || t.b >= counts[2] || outside(t.from, first, span)) return;
    uint slot = gl_LocalInvocationIndex % ROWS, slice = gl_LocalInvocationIndex / ROWS;
    uint row = min(t.from + slot, t.to - 1), i = row - t.first;
    row -= first;
    place = i - (t.from - t.first); // index among the queries of the workgroup
    origin = t.first;
    if (RELATION == EDGES) setBare(head);
    bool live = t.from + slot < t.to;

    vec4 query[VECTORS], outer[VECTORS], result[VECTORS];
    LOAD_ROW(query, 1, q, row, head)
    LOAD_ROW(outer, 0, gradient, row, head)
    for (uint c = 0; c < VECTORS; c++) result[c] = vec4(0);
    float z = norm[row * heads + head], own = share[row * heads + head], inverse = 1 / z;
    float unitMul = fixedUnit(bounds[head], bits), unitAdd = fixedUnit(bounds[heads + head], bits);

    if (WINDOWED) clearWindow();
    uint keys = count[t.b], firstKey = firstRows[t.b];
    for (uint from = 0; from < keys; from += TILE) {
        uint n = min(TILE, keys - from);
        barrier();
        LOAD_TILE(k, v, firstKey + from, n, head)
        uint at = gl_LocalInvocationIndex;
        if (RELATIVE && at < n) {
            keyP[at] = p[firstKey + from + at];
            keyTop[at] = top[firstKey + from + at];
            // A key without a partner serves as its own partner, with weight 0, as p is 1.
            int other = partner[firstKey + from + at];
            keyPartner[at] = other < 0 ? top[firstKey + from + at] : uint(other);
        }
        if (WINDOWED) findRanges(firstKey + from, n);
        if (RELATION == EDGES) {
            barrier();
            for (; at < 2 * n; at += ROWS * SLICES)
                findHits(at, at % 2 == 0 ? keyTop[at / 2] : keyPartner[at / 2], t.from - t.first);
        }
        barrier();
        for (uint begin = 0, end; begin < n; begin = end) {
            end = moveWindow(begin, n);
            for (uint j = begin + slice; j < end && live; j += SLICES) {
                Entry x, y;
                if (RELATIVE) {
                    x = RELATION == EDGES ? entryOfEdge(head, hitOf(2 * j, place)) : entryOf(head, i, keyTop[j]);
                    y = RELATION == EDGES ? entryOfEdge(head, hitOf(2 * j + 1, place)) : entryOf(head, i, keyPartner[j]);
                }
                float m;
                SCORE_OF(OWN(query, 1, c), tile[j * VECTORS + c], m);
                m *= scale;
                float a = m, mul = 1, w = 1, slopeX, slopeY;
                if (RELATIVE) {
                    w = keyP[j];
                    mul = w * softBackward(x, slopeX) + (1 - w) * softBackward(y, slopeY);
                    a = a * mul + (w * x.add + (1 - w) * y.add);
                }
                vec4 products = vec4(0);
                for (uint c = 0; c < VECTORS; c++) products += OWN(outer, 0, c) * tile[(TILE + j) * VECTORS + c];
                float da = (products.x + products.y) + (products.z + products.w) - own;
                if (PROBABILITY == SOFTMAX) da *= Exp(a - z);
                else da = a <= 0 ? 0 : da * inverse;
                if (RELATION == SINUSOID && da != 0) {
                    float dmul = da * m;
                    tally(head, MUL, i, keyTop[j], dmul * w * slopeX, unitMul);
                    tally(head, ADD, i, keyTop[j], da * w, unitAdd);
                    if (w < 1) { // the key has a partner
                        tally(head, MUL, i, keyPartner[j], dmul * (1 - w) * slopeY, unitMul);
                        tally(head, ADD, i, keyPartner[j], da * (1 - w), unitAdd);
                    }
                }
                float dm = da * mul * scale;
                for (uint c = 0; c < VECTORS; c++)
                    result[c] += dm * queryShare(OWN_AGAIN(query, 1, c), tile[j * VECTORS + c + AGAIN]);
            }
            flushWindow(head, t.from - t.first);
        }
    }
    SUM_SLICES(result, VECTORS, 0, dq, t.from - first, t.to - t.from, head)
}
