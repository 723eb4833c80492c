#version 450
#extension GL_GOOGLE_include_directive : require
// The adjoint of sinusoid.comp, in parts: sums over the t of chunk p. With the length n of the
// longest sequence, and ω_half = 0 for the biases:
//
//   parts[p, r, c] = Σ_t (df[r, n−1+t] + df[r, n−1−t]) cos(ω_c t), Σ_t dg[r, t] cos(ω_c t)
//
// where t < n for df and t < 2n − 1 for dg. The entry of df for t = 0 counts once.
//
//   parts [chunks, rows, half + 1] pairs, df, dg [rows, width],
//   turns [half + 1]: frequencies in fixed point
//
// A workgroup processes a chunk for ROWS rows and FREQUENCIES frequencies, and an invocation one
// row and one frequency. The chunk is processed in tiles of t, whose cosines and gradients are in
// shared memory. The sum of each tile is added to the total. Push: rows, width, half, maximum
// number of chunks.
#include "include/common.glsl"
#include "include/cosine.glsl"
#include "include/tables.glsl"

layout(push_constant) uniform Launch { uint rows, width, half_, chunks; } launch;

OPERAND(1, writeonly, vec2, parts);
OPERAND(2, readonly, float, df);
OPERAND(3, readonly, float, dg);
OPERAND(4, readonly, uvec2, turns);

shared float cosines[TILE * FREQUENCIES];
shared vec2 gradients[ROWS * TILE];

// gradient returns the sum of f's gradients at t and −t, and the gradient of g at t. Both are 0 out
// of range.
vec2 gradient(uint r, uint t) {
    uint n = longest(), row = r * launch.width;
    vec2 v = vec2(0.0);
    if (r >= launch.rows || t >= 2 * n - 1) return v;
    if (t < n) v.x = df[row + n - 1 + t];
    if (t > 0 && t < n) v.x += df[row + n - 1 - t];
    v.y = dg[row + t];
    return v;
}

void main() {
    uint me = gl_LocalInvocationIndex, n = 2 * longest() - 1, terms = launch.half_ + 1;
    uint blocks = divideUp(terms, FREQUENCIES), bands = divideUp(launch.rows, ROWS);
    uint firstC = group() % blocks * FREQUENCIES, firstRow = group() / blocks % bands * ROWS, chunk = group() / blocks / bands;
    uint size = chunkLength(n, launch.chunks), begin = chunk * size, end = min(n, begin + size);
    if (chunk >= launch.chunks || begin >= n) return;

    uint c = me % FREQUENCIES, r = me / FREQUENCIES;
    bool mine = firstC + c < terms && firstRow + r < launch.rows;
    uvec2 frequency = firstC + c < terms ? turns[firstC + c] : uvec2(0);
    vec2 total = vec2(0.0);
    for (uint first = begin; first < end; first += TILE) {
        barrier(); // all invocations must have read the tiles before the next write
        for (uint i = me; i < ROWS * TILE; i += 256) gradients[i] = gradient(firstRow + i / TILE, first + i % TILE);
        if (firstC + c < terms) {
            for (uint i = r; i < TILE; i += ROWS) cosines[i * FREQUENCIES + c] = Cos(Turn(first + i, frequency));
        }
        barrier();
        if (mine) {
            vec2 sum = vec2(0.0);
            for (uint i = 0; i < TILE; i++) sum += gradients[r * TILE + i] * cosines[i * FREQUENCIES + c];
            total += sum;
        }
    }
    if (mine) parts[(chunk * launch.rows + firstRow + r) * terms + firstC + c] = total;
}
