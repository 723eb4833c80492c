// The common parts of the attention kernels: the score of a query and a key, and the relative
// encoding of their positions. Rows of heads are padded with zeros to vectors of four channels,
// which does not affect scores.
#ifndef ATTENTION_GLSL
#define ATTENTION_GLSL

layout(constant_id = 0) const uint CHANNELS = 32;     // channels per head
layout(constant_id = 1) const uint SCORE = 0;         // see tensor.Score
layout(constant_id = 2) const uint PROBABILITY = 0;   // see tensor.Probability
layout(constant_id = 3) const uint RELATION = 1;      // kind of relative position bias: NONE … EDGES
layout(constant_id = 4) const uint TILE = 64;         // rows in shared memory, a power of two
layout(constant_id = 5) const uint FEATURES = 1;      // features per pair, for distances or edges
layout(constant_id = 6) const uint SLICES = 4;        // invocations per row, each with its own sums
layout(constant_id = 8) const uint BLOCK = 0;         // channels per pass of the sums, to save registers; 0 means all channels
layout(constant_id = 9) const uint STAGED = 0;        // number of operands with own rows in shared memory instead of registers

const uint MAXOUT = 0, STANDARDIZED = 1, LILY = 2, DOT = 3;
const uint NONE = 0, SINUSOID = 1, DISTANCE = 2, EDGES = 3;
const bool RELATIVE = RELATION != NONE;
const uint LEAKY = 0, RELU = 1, SOFTMAX = 2;

const uint VECTORS = (CHANNELS + 3) / 4;
const uint ROWS = 64; // rows per workgroup, which has ROWS·SLICES invocations

// To save registers, a workgroup sums only the channels of one pass. The value of BLOCK does not
// change the bits of the result.
const bool SPARING = BLOCK > 0;
const uint SUMS = SPARING && BLOCK < CHANNELS ? BLOCK / 4 : VECTORS; // vectors per pass
const uint PASSES = (VECTORS + SUMS - 1) / SUMS;

// Mean and inverse standard deviation of max(q, k) for standard normal q and k.
const float STANDARD_MEAN = 0.5641895835, STANDARD_SCALE = 1.2111738962;

// The tile holds TILE·VECTORS vectors of each of two operands while keys are processed, and then sums of
// PIECE vectors for each of ROWS rows.
const uint PIECE = SPARING ? 8 : 16;
shared vec4 tile[PIECE * ROWS];

// The workgroup's own rows.
shared vec4 ownRows[STAGED > 0 ? STAGED * VECTORS * ROWS : 1];

// OWN is vector c of the invocation's own row of the operand `at`. It is in registers unless the
// operand is staged.
#define OWN(held, at, c) ((at) < STAGED ? ownRows[((at) * VECTORS + (c)) * ROWS + slot] : held[c])

// AGAIN is 0, as the width d of rows is below 2³¹, but compilers cannot know this. Reading at the
// offset AGAIN prevents a compiler from keeping a previous read in registers.
#define AGAIN (SPARING ? d >> 31 : 0)
#define OWN_AGAIN(held, at, c) ((at) < STAGED ? ownRows[((at) * VECTORS + (c)) * ROWS + slot + AGAIN] : held[c])

// SCORE_OF sets m to the unscaled score m(q, k). The arguments q and k are expressions in the index
// c of a vector.
#define SCORE_OF(q, k, m) { \
    vec4 sum = vec4(0); \
    for (uint c = 0; c < VECTORS; c++) { \
        vec4 x = q, y = k; \
        if (SCORE == DOT) sum += x * y; \
        else if (SCORE == LILY) sum += abs(x + y) - abs(x - y); \
        else sum += max(x, y); \
    } \
    m = (sum.x + sum.y) + (sum.z + sum.w); \
    if (SCORE == STANDARDIZED) m = (m - float(CHANNELS) * STANDARD_MEAN) * STANDARD_SCALE; \
}

// queryShare and keyShare are the derivatives of the score with respect to q and k. The gradient of
// max goes to q if q ≥ k. The gradient of |x| is 0 at 0.
vec4 queryShare(vec4 q, vec4 k) {
    if (SCORE == DOT) return k;
    if (SCORE == LILY) return sign(q + k) - sign(q - k);
    vec4 y = mix(vec4(0), vec4(1), greaterThanEqual(q, k));
    return SCORE == STANDARDIZED ? y * STANDARD_SCALE : y;
}

vec4 keyShare(vec4 q, vec4 k) {
    if (SCORE == DOT) return q;
    if (SCORE == LILY) return sign(q + k) + sign(q - k);
    vec4 y = mix(vec4(1), vec4(0), greaterThanEqual(q, k));
    return SCORE == STANDARDIZED ? y * STANDARD_SCALE : y;
}

// floorZero is ReLU that propagates NaN.
float floorZero(float x) { return x < 0 ? 0 : x; }

#endif
