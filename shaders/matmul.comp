#version 450
#extension GL_GOOGLE_include_directive : require
// C[m,n] = Σ_k A[m,k]·B[k,n] in float32, with optional epilogues:
//   + bias[n], GELU, C += instead of =.
// include/matmul.glsl defines the layouts of A and B in memory, the push constants and the first
// specialisation constants.
//
// One workgroup computes BM×BN elements of C, or of one part of C in a weight gradient. An
// invocation computes TM×TN elements in registers. The workgroup processes k in steps of BK. While
// it multiplies the tiles of a step from shared memory, it loads the quads of the next step into
// registers. With BUFFERS = 2 it writes one tile while it reads the other, which saves one barrier
// per step.
//
// Each element is one chain of fused multiply-adds in ascending k, from zero, for every tile size. Its
// bits depend neither on its position nor on the number of rows. Beyond the end of k both tiles
// hold zeros, which do not change the sum.
//
//   constants: see include/matmul.glsl (0 … 7), then 8 TM, 9 TN, 10 BUFFERS
//   invocations: BM/TM · BN/TN; each stages whole quads of both tiles
#include "include/common.glsl"
#include "include/matmul.glsl"

layout(constant_id = 8) const uint TM = 4; // TM and TN are multiples of 4
layout(constant_id = 9) const uint TN = 4;
layout(constant_id = 10) const uint BUFFERS = 2;

const uint TX = BN / TN, TY = BM / TM, THREADS = TX * TY;
const uint QUADS_A = BM * BK / 4 / THREADS, QUADS_B = BN * BK / 4 / THREADS;

// The tiles in quads. A row of a tile has the BM or BN elements of one k.
shared vec4 tileA[BUFFERS * BK * BM / 4];
shared vec4 tileB[BUFFERS * BK * BN / 4];

// The index of a quad in rows 4s … 4s+3 of a tile is XORed with a number that depends on s. This
// avoids bank conflicts between invocations that store elements of different s and columns.
uint permuted(uint s, uint quads) { return s * (32 / BK) & (quads - 1); }

// The following macros use local arrays of main, because compilers keep local arrays in registers,
// unlike global arrays.

// FETCH reads the quads of the next step into registers, and STAGE stores them in buffer `number` of
// the tiles.
#define FETCH(depth) { \
    uint t = gl_LocalInvocationIndex; \
    [[unroll]] for (uint i = 0; i < QUADS_A; i++) nextA[i] = quadA(t + i * THREADS, depth); \
    [[unroll]] for (uint i = 0; i < QUADS_B; i++) nextB[i] = quadB(t + i * THREADS, depth); \
}

// PLACE stores quad number i of this invocation in the tile. It transposes a tile whose quads run
// along k.
#define PLACE(tile, base, transposed, width, next) { \
    uint q = gl_LocalInvocationIndex + i * THREADS; \
    if (transposed) { \
        uint k = q / (width / 4), m = q % (width / 4); \
        tile[base + k * (width / 4) + (m ^ permuted(k / 4, width / 4))] = next[i]; \
    } else { \
        uint s = q % (BK / 4), m = q / (BK / 4); \
        uint at = base + s * width + (m / 4 ^ permuted(s, width / 4)); \
        [[unroll]] for (uint j = 0; j < 4; j++) tile[at + j * (width / 4)][m % 4] = next[i][j]; \
    } \
}

#define STAGE(number) { \
    [[unroll]] for (uint i = 0; i < QUADS_A; i++) PLACE(tileA, (number) * BK * BM / 4, TRANSPOSED_A, BM, nextA) \
    [[unroll]] for (uint i = 0; i < QUADS_B; i++) PLACE(tileB, (number) * BK * BN / 4, TRANSPOSED_B, BN, nextB) \
}

// MULTIPLY adds the products of one step to the sums of invocation (x, y). The invocation's rows
// are quads at distances of TY quads, and its columns quads at distances of TX quads.
#define MULTIPLY(number) { \
    uint baseA = (number) * BK * BM / 4, baseB = (number) * BK * BN / 4; \
    for (uint s = 0; s < BK / 4; s++) { \
        uint pa = permuted(s, BM / 4), pb = permuted(s, BN / 4); \
        [[unroll]] for (uint j = 0; j < 4; j++) { \
            vec4 va[TM / 4], vb[TN / 4]; \
            [[unroll]] for (uint i = 0; i < TM / 4; i++) va[i] = tileA[baseA + (y + i * TY ^ pa)]; \
            [[unroll]] for (uint i = 0; i < TN / 4; i++) vb[i] = tileB[baseB + (x + i * TX ^ pb)]; \
            baseA += BM / 4; \
            baseB += BN / 4; \
            [[unroll]] for (uint m = 0; m < TM; m++) { \
                [[unroll]] for (uint n = 0; n < TN / 4; n++) { \
                    uint i = m * (TN / 4) + n; \
                    sum[i] = fma(vec4(va[m / 4][m % 4]), vb[n], sum[i]); \
                } \
            } \
        } \
    } \
}

void main() {
    if (!place()) return;
    // 32 invocations process 8×4 blocks of C, so that each of their reads of shared memory covers
    // one row of banks.
    uint t = gl_LocalInvocationIndex, x = t % TX, y = t / TX;
    if (TX > 8) {
        x = t % 8 + t / 32 % (TX / 8) * 8;
        y = t / 8 % 4 + t / 32 / (TX / 8) * 4;
    }
    vec4 nextA[QUADS_A], nextB[QUADS_B]; // fetched quads of this invocation
    vec4 sum[TM * TN / 4]; // TM rows of TN/4 quads
    [[unroll]] for (uint i = 0; i < TM * TN / 4; i++) sum[i] = vec4(0);

    FETCH(from)
    STAGE(0)
    barrier();
    uint now = 0;
    for (uint k = from; k < to; k += BK) {
        bool more = k + BK < to;
        if (more) FETCH(k + BK)
        MULTIPLY(now)
        if (BUFFERS == 1) barrier();
        else now ^= 1;
        if (more) STAGE(now)
        barrier();
    }

    [[unroll]] for (uint i = 0; i < TM; i++) {
        uint m = row + (i / 4 * TY + y) * 4 + i % 4;
        [[unroll]] for (uint j = 0; j < TN / 4; j++) finish(m, column + (j * TX + x) * 4, sum[i * (TN / 4) + j]);
    }
}
