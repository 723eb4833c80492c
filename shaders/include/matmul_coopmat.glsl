// The products of matmul.comp by cooperative matrices: A and B rounded to half
// precision on the way into shared memory, sums in float32. HALF and HALF2 name
// the type of the half, as a number and as a pair.
//
// One workgroup computes BM×BN elements of C, a subgroup WM×WN of them as
// matrices of CM×CN. k goes in steps of BK, of CK at a time. The next step's
// quads are on their way to registers while a step's tiles are multiplied.
//
// Nothing depends on the size of a subgroup: where there are fewer than tiles,
// they go over the tiles several times; where there are more, some only stage.
// Each element adds its products CK at a time in ascending k, from zero,
// whatever the tile.
//
//   constants: see matmul.glsl (0 … 7), then 8 WM, 9 WN, 10 CM, 11 CN, 12 CK, 13 BUFFERS
//   invocations: any number that divides the quads of both tiles, BM·BK/4 and BN·BK/4
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
const uint MATRICES_M = WM / CM, MATRICES_N = WN / CN; // of a subgroup
const uint SHARES = BM / WM * (BN / WN);               // of the workgroup's tile, for subgroups

// The tiles lie as A and B do, in pairs of halves, so that quads are stored as
// they come. Rows are 16 bytes apart from a multiple of their length, and so
// begin in other banks.
const uint INNER_A = TRANSPOSED_A ? BM : BK, OUTER_A = TRANSPOSED_A ? BK : BM;
const uint INNER_B = TRANSPOSED_B ? BN : BK, OUTER_B = TRANSPOSED_B ? BK : BN;
const uint STRIDE_A = INNER_A / 2 + 4, STRIDE_B = INNER_B / 2 + 4;
shared HALF2 tileA[BUFFERS * OUTER_A * STRIDE_A];
shared HALF2 tileB[BUFFERS * OUTER_B * STRIDE_B];
shared float tileC[SHARES * CM * CN]; // one matrix of each subgroup, on its way to memory

vec4 nextA[QUADS_A], nextB[QUADS_B];

void fetch(uint k) {
    uint t = gl_LocalInvocationIndex;
    [[unroll]] for (uint i = 0; i < QUADS_A; i++) nextA[i] = quadA(t + i * THREADS, k);
    [[unroll]] for (uint i = 0; i < QUADS_B; i++) nextB[i] = quadB(t + i * THREADS, k);
}

HALF2 halves(float x, float y) { return HALF2(HALF(x), HALF(y)); }

void stage(uint buffer_) {
    [[unroll]] for (uint i = 0; i < QUADS_A; i++) {
        uint q = gl_LocalInvocationIndex + i * THREADS;
        uint at = (buffer_ * OUTER_A + q / (INNER_A / 4)) * STRIDE_A + q % (INNER_A / 4) * 2;
        tileA[at] = halves(nextA[i].x, nextA[i].y);
        tileA[at + 1] = halves(nextA[i].z, nextA[i].w);
    }
    [[unroll]] for (uint i = 0; i < QUADS_B; i++) {
        uint q = gl_LocalInvocationIndex + i * THREADS;
        uint at = (buffer_ * OUTER_B + q / (INNER_B / 4)) * STRIDE_B + q % (INNER_B / 4) * 2;
        tileB[at] = halves(nextB[i].x, nextB[i].y);
        tileB[at + 1] = halves(nextB[i].z, nextB[i].w);
    }
}

coopmat<float, gl_ScopeSubgroup, CM, CN, gl_MatrixUseAccumulator> sum[MATRICES_M * MATRICES_N];

// multiply adds the products of one step to the sums of the share that begins at
// row m and column n of the tile.
void multiply(uint buffer_, uint m, uint n) {
    uint baseA = buffer_ * OUTER_A * STRIDE_A, baseB = buffer_ * OUTER_B * STRIDE_B;
    [[unroll]] for (uint k = 0; k < BK; k += CK) {
        coopmat<HALF, gl_ScopeSubgroup, CM, CK, gl_MatrixUseA> ma[MATRICES_M];
        [[unroll]] for (uint i = 0; i < MATRICES_M; i++) {
            uint at = m + i * CM;
            if (TRANSPOSED_A) coopMatLoad(ma[i], tileA, baseA + k * STRIDE_A + at / 2, STRIDE_A, gl_CooperativeMatrixLayoutColumnMajor);
            else coopMatLoad(ma[i], tileA, baseA + at * STRIDE_A + k / 2, STRIDE_A, gl_CooperativeMatrixLayoutRowMajor);
        }
        [[unroll]] for (uint j = 0; j < MATRICES_N; j++) {
            coopmat<HALF, gl_ScopeSubgroup, CK, CN, gl_MatrixUseB> mb;
            uint at = n + j * CN;
            if (TRANSPOSED_B) coopMatLoad(mb, tileB, baseB + k * STRIDE_B + at / 2, STRIDE_B, gl_CooperativeMatrixLayoutRowMajor);
            else coopMatLoad(mb, tileB, baseB + at * STRIDE_B + k / 2, STRIDE_B, gl_CooperativeMatrixLayoutColumnMajor);
            [[unroll]] for (uint i = 0; i < MATRICES_M; i++) {
                sum[i * MATRICES_N + j] = coopMatMulAdd(ma[i], mb, sum[i * MATRICES_N + j]);
            }
        }
    }
}

// together makes what a subgroup has written to shared memory known to all of it.
void together() {
    controlBarrier(gl_ScopeSubgroup, gl_ScopeSubgroup, gl_StorageSemanticsShared,
                   gl_SemanticsAcquireRelease | gl_SemanticsMakeAvailable | gl_SemanticsMakeVisible);
}

void main() {
    if (!place()) return;
    for (uint pass = 0; pass < SHARES; pass += gl_NumSubgroups) {
        uint share = pass + gl_SubgroupID;
        uint m = share % (BM / WM) * WM, n = share / (BM / WM) * WN;
        [[unroll]] for (uint i = 0; i < MATRICES_M * MATRICES_N; i++) {
            sum[i] = coopmat<float, gl_ScopeSubgroup, CM, CN, gl_MatrixUseAccumulator>(0.0);
        }

        fetch(from);
        stage(0);
        barrier();
        uint now = 0;
        for (uint k = from; k < to; k += BK) {
            bool more = k + BK < to;
            if (more) fetch(k + BK);
            if (share < SHARES) multiply(now, m, n);
            if (BUFFERS == 1) barrier();
            else now ^= 1;
            if (more) stage(now);
            barrier();
        }

        if (share < SHARES) {
            uint base = share * CM * CN;
            [[unroll]] for (uint i = 0; i < MATRICES_M; i++) {
                [[unroll]] for (uint j = 0; j < MATRICES_N; j++) {
                    together();
                    coopMatStore(sum[i * MATRICES_N + j], tileC, base, CN, gl_CooperativeMatrixLayoutRowMajor);
                    together();
                    for (uint q = gl_SubgroupInvocationID; q < CM * CN / 4; q += gl_SubgroupSize) {
                        uint at = base + q * 4;
                        finish(row + m + i * CM + q / (CN / 4), column + n + j * CN + q % (CN / 4) * 4,
                               vec4(tileC[at], tileC[at + 1], tileC[at + 2], tileC[at + 3]));
                    }
                }
            }
        }
    }
}

#endif
