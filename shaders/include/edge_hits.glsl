// The edges from a workgroup's 64 queries to a token of a key in shared memory. A shader must first
// declare what relative_bias.glsl needs, and include it; its tile of queries begins at a position
// of the sequence.
#ifndef EDGE_HITS_GLSL
#define EDGE_HITS_GLSL

// For each key's token and its partner: the first edge, and one bit for each query that has an
// edge.
shared uint hitFirst[128];
shared uvec2 hitBits[128];

// findHits finds the edges into position `token`, in slot `at`, from the queries at from … from +
// 63.
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

// hitOf returns the edge from a query to the token in slot `at`, or NO_EDGE.
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
