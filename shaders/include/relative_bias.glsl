// The relative encoding of a query at position i and a duplet of keys, from the
// tables of sinusoid.comp. A shader declares before: f, g, e, the tables, and
// TABLE, the words of a table's row; HEADS_OF, the number of heads.
#ifndef RELATION_GLSL
#define RELATION_GLSL

// Entry is what the tables hold for a query and one position: e^f·e^g, whose
// softplus is that of mul, and add. A kernel reads those of a pair before it
// computes the score, which takes as long as they do.
struct Entry { float x, add; uint f, g; };

Entry entryOf(uint head, uint i, uint j) {
    uint atF = head * TABLE + i + longest() - 1 - j, atG = head * TABLE + i + j, heads = HEADS_OF * TABLE;
    return Entry(e[atF] * e[heads + atG], f[heads + atF] + g[heads + atG], atF, atG);
}

// Log1pNormal is log(1 + x) for 2⁻⁶⁰ ≤ x ≤ 2⁶⁰, without a branch. What 1 + x loses
// of a small x is added back; of a large one it does not matter.
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

// usual says that the product is well within float32's range: log(1 + e^f·e^g)
// takes no exponential then. Only weights that have run away are beyond.
bool usual(Entry n) { return n.x > 1e-18 && n.x < 1e18; }

float soft(Entry n) { return usual(n) ? Log1pNormal(n.x) : Softplus(f[n.f] + g[n.g]); }

// softBackward has the derivative, too.
float softBackward(Entry n, out float sigmoid) {
    sigmoid = n.x / (1.0 + n.x);
    if (usual(n)) return Log1pNormal(n.x);
    return SoftplusSigmoid(f[n.f] + g[n.g], sigmoid);
}

#endif
