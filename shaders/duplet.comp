#version 450
#extension GL_GOOGLE_include_directive : require
// Duplet: mixes each sampled token with its partner. With the scores s of the selection and λ = log
// softplus:
//
//   p = 1/(1 + exp(λ(s_partner) − λ(s_top))), 1 without a partner
//   y = p·x_top + (1 − p)·x_partner, 0 in unused rows
//
//   y [S, d], p [S], x [T, d], noised [T], top, partner [S], count [B]
//   firstTokens, firstRows [B+1]: first token row and sampled row of each sequence
//
// x is a block of the tokens' rows if all rows would not fit into a binding. Later launches add to y.
// An element has at most two terms, so the split into blocks does not change a bit. In a row,
// invocation l processes the channels l, l + LANES, … Push: d, axis and capacity of the sampled rows,
// first row and number of rows of the block.
#include "include/common.glsl"
#include "include/math.glsl"
#include "include/rows.glsl"

layout(push_constant) uniform Launch { uint d, axis, capacity, first, rows; } launch;

OPERAND(1, , float, y);
OPERAND(2, writeonly, float, p);
OPERAND(3, readonly, float, x);
OPERAND(4, readonly, float, noised);
OPERAND(5, readonly, uint, top);
OPERAND(6, readonly, int, partner);
OPERAND(7, readonly, uint, count);
OPERAND(8, readonly, uint, firstTokens);
OPERAND(9, readonly, uint, firstRows);

#include "include/sequence.glsl"

bool inBlock(uint t) { return t - launch.first < launch.rows; } // wraps for rows in front of the block

void main() {
    uint j = row();
    if (j >= used(launch.axis, launch.capacity)) return;
    uint b = sequenceOf(j);
    bool inUse = j < firstRows[b] + count[b];
    uint t = 0, q = 0;
    float w = 0.0;
    bool mixed = false;
    if (inUse) {
        t = firstTokens[b] + top[j];
        mixed = partner[j] >= 0;
        q = mixed ? firstTokens[b] + uint(partner[j]) : t;
        w = mixed ? Sigmoid(LogSoftplus(noised[t]) - LogSoftplus(noised[q])) : 1.0;
    }
    if (lane() == 0) p[j] = w;
    for (uint c = lane(); c < launch.d; c += LANES) {
        precise float v = 0.0;
        if (inUse && inBlock(t)) v = w * x[(t - launch.first) * launch.d + c];
        if (mixed && inBlock(q)) v += (1.0 - w) * x[(q - launch.first) * launch.d + c];
        if (launch.first > 0) v += y[j * launch.d + c];
        y[j * launch.d + c] = v;
    }
}
