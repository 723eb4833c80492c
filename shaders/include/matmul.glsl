// The common parts of the matrix products C[m,n] = A[m,k]·B[k,n], where either m or k is the number
// of rows of a batch: the operands, the part of C of a workgroup, and functions that read four
// words of an operand and write four words of C.
//
// An operand is stored by rows with k as the inner dimension, [m,k] and [n,k]. With the constant
// for transposition, the layouts are [k,m] and [k,n]. The three products of a linear layer are
//   forward          Y  = X·Wᵀ   neither operand transposed
//   input gradient   DX = DY·W   B transposed
//   weight gradient  DW = DYᵀ·X  both transposed; k is the number of rows, and each chunk of rows
//                                is summed to a part of C, [parts, m, n]
#ifndef MATMUL_GLSL
#define MATMUL_GLSL
#extension GL_EXT_control_flow_attributes : require
#include "rowchunks.glsl"
#include "math.glsl"

layout(local_size_x_id = 0) in;
layout(constant_id = 1) const bool TRANSPOSED_A = false;
layout(constant_id = 2) const bool TRANSPOSED_B = false;
layout(constant_id = 3) const bool ALIGNED = false; // widths of A and B are multiples of 4
layout(constant_id = 4) const bool GELU = false;    // C = GELU(A·B + bias)
layout(constant_id = 5) const uint BM = 64; // rows of C per workgroup
layout(constant_id = 6) const uint BN = 64;         // columns of C per workgroup
layout(constant_id = 7) const uint BK = 16; // step of k

const uint BIAS = 1, ACCUMULATE = 2;

layout(push_constant) uniform Push {
    uint axis, capacity; // axis and capacity of the rows
    uint first; // index in the batch of the operands' first row
    uint m, n, k; // dimensions; m or k is the capacity in rows of the operands
    uint firstPart, parts; // parts of C; more than one only if k is the number of rows
    uint flags;
    uint span; // number of rows in which chunks may begin
} push;

// A, B and C have two views each: words, and vectors of four words.
layout(set = 0, binding = 1, std430) readonly buffer A { float a[]; };
layout(set = 0, binding = 1, std430) readonly buffer A4 { vec4 a4[]; };
layout(set = 0, binding = 2, std430) readonly buffer B { float b[]; };
layout(set = 0, binding = 2, std430) readonly buffer B4 { vec4 b4[]; };
OPERAND(3, readonly, float, bias); // [n]
layout(set = 0, binding = 4, std430) buffer C { float c[]; };
layout(set = 0, binding = 4, std430) buffer C4 { vec4 c4[]; };

uint M, K; // numbers of rows m and depth k in use
uint row, column; // position of the workgroup's first element of C
uint part;       // index of the part of C
uint from, to; // range from … to−1 of k for the workgroup

// place finds the part of C for this workgroup, and returns false if there is none. Adjacent
// workgroups process the same rows, so that the wider operand is read from memory once.
bool place() {
    uint all = used(push.axis, push.capacity);
    uint rows = all > push.first ? all - push.first : 0;
    M = TRANSPOSED_A ? push.m : min(push.m, rows);
    K = TRANSPOSED_A ? min(push.k, rows) : push.k;
    uint across = divideUp(push.n, BN), down = divideUp(push.m, BM), g = group();
    column = g % across * BN;
    g /= across;
    row = g % down * BM;
    part = g / down;
    from = 0;
    to = K;
    if (TRANSPOSED_A) { // the part of a chunk without rows is zero
        uint chunk = chunkRows(all), begin = (push.firstPart + part) * chunk;
        if (begin < push.first || begin - push.first >= push.span) return false;
        from = min(K, begin - push.first);
        to = min(K, from + chunk);
    }
    return part < push.parts && row < M;
}

// readA and readB return four words of A or B from word i on. Only the first n of these
// words are inside the operand; the others are 0.
vec4 readA(uint i, uint n) {
    vec4 v = vec4(0);
    if (ALIGNED) {
        if (n > 0) v = a4[i / 4];
        return v;
    }
    if (n > 0) v.x = a[i];
    if (n > 1) v.y = a[i + 1];
    if (n > 2) v.z = a[i + 2];
    if (n > 3) v.w = a[i + 3];
    return v;
}

vec4 readB(uint i, uint n) {
    vec4 v = vec4(0);
    if (ALIGNED) {
        if (n > 0) v = b4[i / 4];
        return v;
    }
    if (n > 0) v.x = b[i];
    if (n > 1) v.y = b[i + 1];
    if (n > 2) v.z = b[i + 2];
    if (n > 3) v.w = b[i + 3];
    return v;
}

// inside returns the number of elements from i to the end of a range, and 0 after the end.
uint inside(uint i, uint end) { return i < end ? end - i : 0; }

// quadA and quadB return quad q of the workgroup's tile of A or B at depth k: four adjacent words.
// Quads are counted in memory order.
vec4 quadA(uint q, uint k) {
    if (TRANSPOSED_A) {
        k += q / (BM / 4);
        uint m = row + q % (BM / 4) * 4;
        return readA(k * push.m + m, k < to ? inside(m, M) : 0);
    }
    k += q % (BK / 4) * 4;
    uint m = row + q / (BK / 4);
    return readA(m * push.k + k, m < M ? inside(k, to) : 0);
}

vec4 quadB(uint q, uint k) {
    if (TRANSPOSED_B) {
        k += q / (BN / 4);
        uint n = column + q % (BN / 4) * 4;
        return readB(k * push.n + n, k < to ? inside(n, push.n) : 0);
    }
    k += q % (BK / 4) * 4;
    uint n = column + q / (BK / 4);
    return readB(n * push.k + k, n < push.n ? inside(k, to) : 0);
}

// finish computes C(m, n … n+3) from the sums v of products, and writes it.
void finish(uint m, uint n, vec4 v) {
    if (m >= M || n >= push.n) return;
    uint count = push.n - n, i = (part * M + m) * push.n + n;
    if ((push.flags & BIAS) != 0) {
        v.x += bias[n];
        if (count > 1) v.y += bias[n + 1];
        if (count > 2) v.z += bias[n + 2];
        if (count > 3) v.w += bias[n + 3];
    }
    if (GELU) v = vec4(Gelu(v.x), Gelu(v.y), Gelu(v.z), Gelu(v.w));
    bool accumulate = (push.flags & ACCUMULATE) != 0;
    if (push.n % 4 == 0) {
        c4[i / 4] = accumulate ? c4[i / 4] + v : v;
        return;
    }
    [[unroll]] for (uint j = 0; j < 4; j++) {
        if (j < count) c[i + j] = accumulate ? c[i + j] + v[j] : v[j];
    }
}

#endif
