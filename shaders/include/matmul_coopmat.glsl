// The products of matmul.comp with cooperative matrices. A and B are rounded to the 16-bit type
// HALF when they are stored in shared memory; sums are float32. HALF2 is a vector of two HALF
// numbers. The function representable(x) returns the float32 number whose conversion to HALF is
// stored for x.
//
// One workgroup computes BM×BN elements of C. A subgroup computes WM×WN elements as at most 2×2
// matrices of CM×CN. Each matrix is a separate variable, because some compilers do not keep arrays
// of matrices in registers. The workgroup processes k in steps of BK, and multiplies CK at a time.
// While it multiplies the tiles of a step, it loads the quads of the next step into registers.
//
// The result does not depend on the size of a subgroup. If a workgroup has fewer subgroups than
// parts of the tile, a subgroup computes several parts; if it has more, some subgroups only stage.
// Each element adds its products CK at a time in ascending k, from zero, for every tile size.
//
// If n is a multiple of 4, matrices of tiles inside C are written directly. All other matrices are
// written through shared memory, a quad at a time.
//
//   constants: see matmul.glsl (0 … 7), then 8 WM, 9 WN, 10 CM, 11 CN, 12 CK, 13 BUFFERS, 14: see matmul_coopmat.comp
//   invocations: any common divisor of the numbers of quads of both tiles, BM·BK/4 and BN·BK/4
#ifndef MATMUL_COOPMAT_GLSL
#define MATMUL_COOPMAT_GLSL
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_cooperative_matrix : require
#include "common.glsl"
#include "matmul.glsl"

layout(constant_id = 8) const uint WM = 32;
layout(constant_id = 9) const uint WN = 32;
layout(constant_id = 10) const uint CM = 16;
layout(constant_id = 11) const uint CN = 16;
layout(constant_id = 12) const uint CK = 16;
layout(constant_id = 13) const uint BUFFERS = 1;

const uint THREADS = gl_WorkGroupSize.x;
const uint QUADS_A = BM * BK / 4 / THREADS, QUADS_B = BN * BK / 4 / THREADS;
const bool TALL = WM > CM, WIDE = WN > CN; // true if a subgroup has two matrices in this direction
const uint SHARES = BM / WM * (BN / WN); // number of parts of the workgroup's tile; a subgroup computes one part per pass

// The tiles have the layouts of A and B, in pairs of halves, so that quads are stored directly.
// Rows are padded by 16 bytes, so that they begin in different banks.
const uint INNER_A = TRANSPOSED_A ? BM : BK, OUTER_A = TRANSPOSED_A ? BK : BM;
const uint INNER_B = TRANSPOSED_B ? BN : BK, OUTER_B = TRANSPOSED_B ? BK : BN;
const uint STRIDE_A = INNER_A / 2 + 4, STRIDE_B = INNER_B / 2 + 4;
shared HALF2 tileA[BUFFERS * OUTER_A * STRIDE_A];
shared HALF2 tileB[BUFFERS * OUTER_B * STRIDE_B];
shared float tileC[SHARES * CM * CN]; // one matrix per part, to be written to C

// FETCH reads the quads of the next step into registers. STAGE rounds these quads and stores them in
// buffer `number` of the tiles. FETCH, STAGE and MULTIPLY are macros that use local variables of main,
// because compilers keep local variables in registers, unlike global ones.

#define FETCH(depth) { \
    uint t = gl_LocalInvocationIndex; \
    [[unroll]] for (uint i = 0; i < QUADS_A; i++) nextA[i] = quadA(t + i * THREADS, depth); \
    [[unroll]] for (uint i = 0; i < QUADS_B; i++) nextB[i] = quadB(t + i * THREADS, depth); \
}

HALF2 halves(float x, float y) { return HALF2(HALF(representable(x)), HALF(representable(y))); }

#define STAGE(number) { \
    [[unroll]] for (uint i = 0; i < QUADS_A; i++) { \
        uint q = gl_LocalInvocationIndex + i * THREADS; \
        uint at = ((number) * OUTER_A + q / (INNER_A / 4)) * STRIDE_A + q % (INNER_A / 4) * 2; \
        tileA[at] = halves(nextA[i].x, nextA[i].y); \
        tileA[at + 1] = halves(nextA[i].z, nextA[i].w); \
    } \
    [[unroll]] for (uint i = 0; i < QUADS_B; i++) { \
        uint q = gl_LocalInvocationIndex + i * THREADS; \
        uint at = ((number) * OUTER_B + q / (INNER_B / 4)) * STRIDE_B + q % (INNER_B / 4) * 2; \
        tileB[at] = halves(nextB[i].x, nextB[i].y); \
        tileB[at + 1] = halves(nextB[i].z, nextB[i].w); \
    } \
}

#define SUMS coopmat<float, gl_ScopeSubgroup, CM, CN, gl_MatrixUseAccumulator>

#define LOAD_A(matrix, at) { \
    if (TRANSPOSED_A) coopMatLoad(matrix, tileA, baseA + k * STRIDE_A + (at) / 2, STRIDE_A, gl_CooperativeMatrixLayoutColumnMajor); \
    else coopMatLoad(matrix, tileA, baseA + (at) * STRIDE_A + k / 2, STRIDE_A, gl_CooperativeMatrixLayoutRowMajor); \
}

#define LOAD_B(matrix, at) { \
    if (TRANSPOSED_B) coopMatLoad(matrix, tileB, baseB + k * STRIDE_B + (at) / 2, STRIDE_B, gl_CooperativeMatrixLayoutRowMajor); \
    else coopMatLoad(matrix, tileB, baseB + (at) * STRIDE_B + k / 2, STRIDE_B, gl_CooperativeMatrixLayoutColumnMajor); \
}

// MULTIPLY adds the products of one step to the sums of the part that begins at row m and column n
// of the tile.
#define MULTIPLY(number) { \
    uint baseA = (number) * OUTER_A * STRIDE_A, baseB = (number) * OUTER_B * STRIDE_B; \
    [[unroll]] for (uint k = 0; k < BK; k += CK) { \
        coopmat<HALF, gl_ScopeSubgroup, CM, CK, gl_MatrixUseA> a0, a1; \
        coopmat<HALF, gl_ScopeSubgroup, CK, CN, gl_MatrixUseB> b0, b1; \
        LOAD_A(a0, m) \
        LOAD_B(b0, n) \
        sum00 = coopMatMulAdd(a0, b0, sum00); \
        if (TALL) { \
            LOAD_A(a1, m + CM) \
            sum10 = coopMatMulAdd(a1, b0, sum10); \
        } \
        if (WIDE) { \
            LOAD_B(b1, n + CN) \
            sum01 = coopMatMulAdd(a0, b1, sum01); \
            if (TALL) sum11 = coopMatMulAdd(a1, b1, sum11); \
        } \
    } \
}

// finishMatrix computes the elements of C for a matrix that begins at row m and column n, and
// writes them. The matrix must lie inside C.
void finishMatrix(uint m, uint n, SUMS v) {
    if ((push.flags & BIAS) != 0) {
        SUMS rows; // every row is the bias
        coopMatLoad(rows, bias, n, 0, gl_CooperativeMatrixLayoutRowMajor);
        v += rows;
    }
    if (GELU) {
        [[unroll]] for (uint i = 0; i < v.length(); i++) v[i] = Gelu(v[i]);
    }
    uint i = (part * M + m) * push.n + n;
    if ((push.flags & ACCUMULATE) != 0) {
        SUMS before;
        coopMatLoad(before, c, i, push.n, gl_CooperativeMatrixLayoutRowMajor);
        v = before + v;
    }
    coopMatStore(v, c, i, push.n, gl_CooperativeMatrixLayoutRowMajor);
}

// together makes a subgroup's writes to shared memory visible to the subgroup.
void together() {
    controlBarrier(gl_ScopeSubgroup, gl_ScopeSubgroup, gl_StorageSemanticsShared,
                   gl_SemanticsAcquireRelease | gl_SemanticsMakeAvailable | gl_SemanticsMakeVisible);
}

// FINISH writes matrix (i, j) of a subgroup to C.
#define FINISH(i, j, sums) { \
    uint m1 = row + m + i * CM, n1 = column + n + j * CN; \
    if (whole) finishMatrix(m1, n1, sums); \
    else { \
        uint base = share * CM * CN; \
        together(); \
        coopMatStore(sums, tileC, base, CN, gl_CooperativeMatrixLayoutRowMajor); \
        together(); \
        for (uint q = gl_SubgroupInvocationID; q < CM * CN / 4; q += gl_SubgroupSize) { \
            uint at = base + q * 4; \
            finish(m1 + q / (CN / 4), n1 + q % (CN / 4) * 4, vec4(tileC[at], tileC[at + 1], tileC[at + 2], tileC[at + 3])); \
        } \
    } \
}

void main() {
    if (!place()) return;
    for (uint pass = 0; pass < SHARES; pass += gl_NumSubgroups) {
        uint share = pass + gl_SubgroupID;
        uint m = share % (BM / WM) * WM, n = share / (BM / WM) * WN;
        vec4 nextA[QUADS_A], nextB[QUADS_B]; // fetched quads of this invocation
        SUMS sum00 = SUMS(0.0), sum01 = SUMS(0.0), sum10 = SUMS(0.0), sum11 = SUMS(0.0);

        FETCH(from)
        STAGE(0)
        barrier();
        uint now = 0;
        for (uint k = from; k < to; k += BK) {
            bool more = k + BK < to;
            if (more) FETCH(k + BK)
            if (share < SHARES) MULTIPLY(now)
            if (BUFFERS == 1) barrier();
            else now ^= 1;
            if (more) STAGE(now)
            barrier();
        }

        bool whole = row + BM <= M && column + BN <= push.n && push.n % 4 == 0;
        if (share < SHARES) {
            FINISH(0, 0, sum00)
            if (TALL) FINISH(1, 0, sum10)
            if (WIDE) FINISH(0, 1, sum01)
            if (TALL && WIDE) FINISH(1, 1, sum11)
        }
    }
}

#endif
