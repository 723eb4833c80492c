// The relative encoding of a query at position i and a duplet of keys, from the
// tables of sinusoid.comp. A shader declares before: f, g, e, the tables, and
// TABLE, the words of a table's row; HEADS_OF, the number of heads.
#ifndef RELATION_GLSL
#define RELATION_GLSL

// term is what one position j contributes.
struct Term { float soft, sigmoid, add; };

// place returns where a pair of positions lies in a head's rows of f and of g.
uvec2 place(uint head, uint i, uint j) {
    return uvec2(head * TABLE + i + longest() - 1 - j, head * TABLE + i + j);
}

// softplusOf is softplus(mul): log(1 + e^f·e^g) takes no exponential, unless the
// product may have left float32's range.
float softplusOf(uvec2 at, float x) {
    if (x > 1e-18 && x < 1e18) return Log1p(x);
    return Softplus(f[at.x] + g[at.y]);
}

Term term(uint head, uint i, uint j) {
    uvec2 at = place(head, i, j);
    uint heads = HEADS_OF * TABLE;
    float x = e[at.x] * e[heads + at.y];
    return Term(softplusOf(at, x), 0, f[heads + at.x] + g[heads + at.y]);
}

// termBackward has the derivative of soft, too.
Term termBackward(uint head, uint i, uint j) {
    uvec2 at = place(head, i, j);
    uint heads = HEADS_OF * TABLE;
    float x = e[at.x] * e[heads + at.y], sigmoid;
    if (x > 1e-18 && x < 1e18) return Term(Log1p(x), x / (1 + x), f[heads + at.x] + g[heads + at.y]);
    float soft = SoftplusSigmoid(f[at.x] + g[at.y], sigmoid);
    return Term(soft, sigmoid, f[heads + at.x] + g[heads + at.y]);
}

#endif
