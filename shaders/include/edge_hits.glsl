// Shared memory with the edges from a workgroup's 64 queries to the tokens of keys. A shader must
// first include relative_bias.glsl, with the declarations that it needs.
#ifndef EDGE_HITS_GLSL
#define EDGE_HITS_GLSL

// For each key's token and its partner: the first edge from a query of the workgroup into the token,
// and a bit for each query with an edge into the token.
shared uint hitFirst[128];
shared uvec2 hitBits[128];

// findHits finds the edges into position `token` from the 64 queries that begin at position `from`, and
// stores them in slot `at`.
void findHits(uint at, uint token, uint from) {
    uint end, first = edgesFrom(from, token, end);
    uvec2 bits = uvec2(0);
    for (uint edge = first; edge < end && sourceOf(edge) < from + 64; edge++) {
        uint query = sourceOf(edge) - from;
        if (query < 32) bits.x |= 1u << query;
        else bits.y |= 1u << (query - 32);
    }
    hitFirst[at] = first;
    hitBits[at] = bits;
}

// hitOf returns the edge from a query to the token of slot `at`, or NO_EDGE.
uint hitOf(uint at, uint query) {
    uvec2 bits = hitBits[at];
    if (query < 32) {
        if ((bits.x >> query & 1u) == 0) return NO_EDGE;
        return hitFirst[at] + bitCount(bits.x & ((1u << query) - 1));
    }
    if ((bits.y >> (query - 32) & 1u) == 0) return NO_EDGE;
    return hitFirst[at] + bitCount(bits.x) + bitCount(bits.y & ((1u << (query - 32)) - 1));
}

#endif
