// The relation of a query at position i and a duplet of keys. A shader must first declare TABLE,
// HEADS_OF (the number of heads), and these operands:
//   sinusoids: f, g, e, the tables of sinusoid.comp; TABLE is the number of words per row
//   distances: f, the points [T, TABLE]; g, the weights of pairweights.comp
//   edges: f, their features [E, FEATURES]; g as for distances; e: the edges into packed row t
//   are e[t] … e[t + 1] − 1, and the source of edge n is position e[TABLE + n] of the sequence
#ifndef RELATION_GLSL
#define RELATION_GLSL

// Entry has the values of the tables for a query and one position. A kernel reads the entries of a
// pair before it computes the score, to hide the latency.
// For sinusoids, x = e^(f + g) with mul's values in the tables f and g, so softplus(f + g) = log(1 + x),
// and add = f + g with add's values. The fields f and g are the indices of mul's values in the tables.
// For distances, x is the argument z of mul's softplus, and pair has the features of the pair. For
// edges, x is also z, and f is the edge, or NO_EDGE.
struct Entry { float x, add; uint f, g; vec2 pair; };

// origin is the packed row of the sequence's first token, as points and edges are indexed by row.
uint origin = 0;

vec3 vectorOf(uint word) { return vec3(f[word], f[word + 1], f[word + 2]); }

Entry distanceOf(uint head, uint i, uint j) {
    uint r = TABLE / 3, w = head * (2 * r + 2), x = (origin + i) * TABLE, y = (origin + j) * TABLE;
    vec3 apart = vectorOf(x) - vectorOf(y);
    vec2 a = vec2(dot(apart, apart), 0);
    float mul = g[w] * a.x, add = g[w + r + 1] * a.x;
    if (r == 2) {
        a.y = dot(vectorOf(x + 3), vectorOf(y + 3));
        mul += g[w + 1] * a.y;
        add += g[w + r + 2] * a.y;
    }
    return Entry(mul + g[w + r], add + g[w + 2 * r + 1], 0, 0, a);
}

const uint NO_EDGE = 0xffffffff;

// bare is a head's entry for a pair without an edge. bareSoft is the softplus of its x, and
// bareSlope the derivative of the softplus.
Entry bare;
float bareSoft, bareSlope;

void setBare(uint head) {
    uint w = head * (2 * FEATURES + 2);
    bare = Entry(g[w + FEATURES], g[w + 2 * FEATURES + 1], NO_EDGE, 0, vec2(0));
    bareSoft = SoftplusSigmoid(bare.x, bareSlope);
}

// sourceOf returns the source position of an edge.
uint sourceOf(uint edge) { return e[TABLE + edge]; }

// edgesFrom returns the first edge into position j with a source of at least i. It sets end to the
// end of the edges into j.
uint edgesFrom(uint i, uint j, out uint end) {
    uint low = e[origin + j];
    end = e[origin + j + 1];
    for (uint high = end; low < high;) {
        uint middle = (low + high) / 2;
        if (sourceOf(middle) < i) low = middle + 1;
        else high = middle;
    }
    return low;
}

Entry entryOfEdge(uint head, uint edge) {
    if (edge == NO_EDGE) return bare;
    uint w = head * (2 * FEATURES + 2), a = edge * FEATURES;
    float mul = 0, add = 0;
    for (uint c = 0; c < FEATURES; c++) {
        mul += g[w + c] * f[a + c];
        add += g[w + FEATURES + 1 + c] * f[a + c];
    }
    return Entry(bare.x + mul, bare.add + add, edge, 0, vec2(0));
}

Entry entryOf(uint head, uint i, uint j) {
    if (RELATION == DISTANCE) return distanceOf(head, i, j);
    uint atF = head * TABLE + i + longest() - 1 - j, atG = head * TABLE + i + j, heads = HEADS_OF * TABLE;
    return Entry(uintBitsToFloat(e[atF]) * uintBitsToFloat(e[heads + atG]), f[heads + atF] + g[heads + atG], atF, atG, vec2(0));
}

// Log1pNormal returns log(1 + x) for 2⁻⁶⁰ ≤ x ≤ 2⁶⁰, without a branch. It corrects the rounding
// error of 1 + x, which matters for small x.
float Log1pNormal(float x) {
    precise float u = 1.0 + x;
    precise float lost = x - (u - 1.0);
    int k = int(floatBitsToUint(u) - 0x3f3504f3u) >> 23;
    float f = uintBitsToFloat(floatBitsToUint(u) - (uint(k) << 23)) - 1.0;
    float p = -0.076344505 * f + 0.127615526;
    p = p * f - 0.131601885;
    p = p * f + 0.142017618;
    p = p * f - 0.166233569;
    p = p * f + 0.200012267;
    p = p * f - 0.250008196;
    p = p * f + 0.333333313;
    float f2 = f * f;
    float y = (f2 * f) * p + (f - 0.5 * f2);
    return y + (float(k) * 0.693147180559945 + (k == 0 ? lost : 0.0));
}

// usual reports whether the product e^f·e^g is well within the range of float32, so that
// log(1 + e^f·e^g) needs no exponential. The product leaves this range only if weights diverge.
bool usual(Entry n) { return n.x > 1e-18 && n.x < 1e18; }

float soft(Entry n) {
    if (RELATION == EDGES) return n.f == NO_EDGE ? bareSoft : Softplus(n.x);
    return RELATION == DISTANCE ? Softplus(n.x) : usual(n) ? Log1pNormal(n.x) : Softplus(f[n.f] + g[n.g]);
}

// softBackward returns the softplus and its derivative.
float softBackward(Entry n, out float sigmoid) {
    if (RELATION == EDGES) {
        if (n.f != NO_EDGE) return SoftplusSigmoid(n.x, sigmoid);
        sigmoid = bareSlope;
        return bareSoft;
    }
    if (RELATION == DISTANCE) return SoftplusSigmoid(n.x, sigmoid);
    sigmoid = n.x / (1.0 + n.x);
    if (usual(n)) return Log1pNormal(n.x);
    return SoftplusSigmoid(f[n.f] + g[n.g], sigmoid);
}

#endif
