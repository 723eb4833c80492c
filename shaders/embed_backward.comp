// part[p, v] = Σ dy[t] over the rows t of chunk p with token[t] = v. Another launch adds these sums
// in order; the sum of a single chunk is dweight itself.
//   dy [rows, width], token [rows], part [pieces, V, width]
//
// One workgroup processes 64 columns of one v in one chunk. It searches the chunk's tokens for v,
// 256 tokens at a time, and adds the rows of the found tokens in a fixed order.
//
//   push: extent, vocabulary, number of chunks (pieces)
#version 450
#extension GL_GOOGLE_include_directive : require
#include "include/common.glsl"
#include "include/columns.glsl"
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_ballot : require

layout(push_constant) uniform Push { EXTENT, vocabulary, pieces; } push;

OPERAND(1, , float, part);
OPERAND(2, readonly, float, dy);
OPERAND(3, readonly, uint, token);

shared uint found[256];
shared uint foundBy[256]; // number of tokens found by each subgroup

// list appends the row t of each invocation with a hit to found[], from index 0, and returns the
// number of hits.
uint list(uint t, bool hit) {
    uvec4 votes = subgroupBallot(hit);
    if (subgroupElect()) foundBy[gl_SubgroupID] = subgroupBallotBitCount(votes);
    barrier();
    uint n = 0, before = 0;
    for (uint i = 0; i < gl_NumSubgroups; i++) {
        if (i == gl_SubgroupID) before = n;
        n += foundBy[i];
    }
    if (hit) found[before + subgroupBallotExclusiveBitCount(votes)] = t;
    barrier();
    return n;
}

void main() {
    uint across = divideUp(push.width, COLUMNS), row = group() / across; // index of the row in part
    if (row >= push.pieces * push.vocabulary) return;
    uint v = row % push.vocabulary, piece = row / push.vocabulary;
    uint c = group() % across * COLUMNS + column();
    uint n = used(push.axis, push.capacity);
    uvec2 range = pieceRange(piece, max(256, divideUp(n, push.pieces)), n, push.first, push.rows);

    float total = 0;
    for (uint at = range.x; at < range.y; at += 256) {
        uint t = at + gl_LocalInvocationIndex;
        uint matches = list(t, t < range.y && token[min(t, range.y - 1)] == v);
        if (c < push.width) {
            float sum = 0;
            for (uint i = lane(); i < matches; i += LANES) sum += dy[found[i] * push.width + c];
            total += sum;
        }
    }
    total = columnAdd(total);
    if (lane() != 0 || c >= push.width) return;
    uint to = row * push.width + c;
    part[to] = push.first > 0 ? part[to] + total : total;
}
