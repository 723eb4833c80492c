#version 450
#extension GL_GOOGLE_include_directive : require
// The gradients of duplet.comp. With g = dy of a sampled row and ρ = σ/softplus:
//
//   dp = Σ_heads dpHeads + Σ_c g·(x_top − x_partner)
//   dscore_top = dp·p(1−p)·ρ(s_top), dscore_partner = −dp·p(1−p)·ρ(s_partner)
//   dx_top += p·g, dx_partner += (1−p)·g
//
//   dx, x [T, d], dscore, noised [T], dy [S, d], dpHeads [S, heads], p [S],
//   top, partner [S], count [B]
//   firstTokens, firstRows [B+1]: first token row and sampled row of each sequence
//
// A token is in at most one duplet, so rows never add to the same word. dscore must be zero before the
// first launch. Invocation l of a row processes the channels l, l + LANES, … dx and x are blocks of the
// tokens' rows if all rows would not fit into a binding. The launches then collect the differences
// x_top − x_partner in memory [S, d], and the last launch computes the sums. Push: d, heads (0 without
// dpHeads), axis and capacity of the sampled rows, first row and number of rows of the block, and
// whether the block is the last.
#include "include/common.glsl"
#include "include/math.glsl"
#include "include/rows.glsl"

layout(push_constant) uniform Launch { uint d, heads, axis, capacity, first, rows, last; } launch;

OPERAND(1, , float, dx);
OPERAND(2, writeonly, float, dscore);
OPERAND(3, readonly, float, dy);
OPERAND(4, readonly, float, dpHeads);
OPERAND(5, readonly, float, p);
OPERAND(6, readonly, float, x);
OPERAND(7, readonly, float, noised);
OPERAND(8, readonly, uint, top);
OPERAND(9, readonly, int, partner);
OPERAND(10, readonly, uint, count);
OPERAND(11, readonly, uint, firstTokens);
OPERAND(12, readonly, uint, firstRows);

OPERAND(13, , float, differences);

#include "include/sequence.glsl"

bool here(uint row) { return row >= launch.first && row - launch.first < launch.rows; }

void main() {
    uint j = row();
    bool inUse = j < used(launch.axis, launch.capacity);
    uint t = 0, q = 0;
    float w = 1.0;
    bool mixed = false;
    if (inUse) {
        uint b = sequenceOf(j);
        inUse = j < firstRows[b] + count[b];
        if (inUse) {
            t = firstTokens[b] + top[j];
            mixed = partner[j] >= 0;
            if (mixed) {
                q = firstTokens[b] + uint(partner[j]);
                w = p[j];
            }
        }
    }
    float sum = 0.0;
    if (inUse) {
        for (uint c = lane(); c < launch.d; c += LANES) {
            float g = dy[j * launch.d + c];
            uint ct = (t - launch.first) * launch.d + c;
            if (here(t)) dx[ct] += w * g;
            if (!mixed) continue;
            uint cq = (q - launch.first) * launch.d + c;
            float difference = launch.first > 0 ? differences[j * launch.d + c] : 0.0;
            if (here(t)) difference += x[ct];
            if (here(q)) {
                dx[cq] += (1.0 - w) * g;
                difference -= x[cq];
            }
            if (launch.last != 0) sum += g * difference;
            else differences[j * launch.d + c] = difference;
        }
        if (mixed) {
            for (uint n = lane(); n < launch.heads; n += LANES) sum += dpHeads[j * launch.heads + n];
        }
    }
    sum = rowAdd(sum);
    if (lane() != 0 || !mixed || launch.last == 0) return;
    sum *= w * (1.0 - w);
    dscore[t] = sum * Rho(noised[t]);
    dscore[q] = -sum * Rho(noised[q]);
}
