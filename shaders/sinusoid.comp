#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
// The tables of the relative encoding. With the length n of the longest sequence:
//
//   f[r, t+n−1] = ½ Σ_c (w_r[2c+1] + w_r[2c]) cos(ω_c t) + b_r   −n < t < n
//   g[r, t]     = ½ Σ_c (w_r[2c+1] − w_r[2c]) cos(ω_c t)         0 ≤ t < 2n − 1
//   e[r] = exp(f[r]), e[h+r] = exp(g[r])   r < h
//
//   f, g, e [2h, width], weights mul, add [h, 2·half], biases mulBias, addBias [h],
//   turns [half]: frequencies in fixed point
//
// An invocation processes one t in ROWS rows, so it computes each cosine once for these rows. A
// workgroup stages the coefficients of FREQUENCIES terms at a time. The sum of each stage is added to
// the total. Push: rows (2h), width, half.
#include "include/common.glsl"
#include "include/math.glsl"
#include "include/cosine.glsl"
#include "include/tables.glsl"

layout(push_constant) uniform Launch { uint rows, width, half_; } launch;

OPERAND(1, writeonly, float, f);
OPERAND(2, writeonly, float, g);
OPERAND(3, writeonly, float, e);
OPERAND(4, readonly, float, mul);
OPERAND(5, readonly, float, add);
OPERAND(6, readonly, float, mulBias);
OPERAND(7, readonly, float, addBias);
OPERAND(8, readonly, uvec2, turns);

shared vec2 coefficients[FREQUENCIES * ROWS]; // coefficients of f and g; the rows of a frequency are adjacent
shared uvec2 frequencies[FREQUENCIES];

// coefficient returns the factors of the cosine of frequency c in row r for f and g, and 0 out of
// range.
vec2 coefficient(uint r, uint c) {
    if (r >= launch.rows || c >= launch.half_) return vec2(0.0);
    uint heads = launch.rows / 2;
    float sine, cosine;
    if (r < heads) {
        uint at = 2 * (r * launch.half_ + c);
        sine = mul[at];
        cosine = mul[at + 1];
    } else {
        uint at = 2 * ((r - heads) * launch.half_ + c);
        sine = add[at];
        cosine = add[at + 1];
    }
    return 0.5 * vec2(cosine + sine, cosine - sine);
}

void store(uint r, uint t, vec2 v) {
    uint n = longest(), heads = launch.rows / 2, row = r * launch.width;
    v.x += r < heads ? mulBias[r] : addBias[r - heads];
    if (t < n) {
        f[row + n - 1 + t] = v.x;
        f[row + n - 1 - t] = v.x;
    }
    g[row + t] = v.y;
    if (r >= heads) return;
    if (t < n) {
        float ef = Exp(v.x);
        e[row + n - 1 + t] = ef;
        e[row + n - 1 - t] = ef;
    }
    e[row + heads * launch.width + t] = Exp(v.y);
}

void main() {
    uint blocks = divideUp(launch.width, 256), entries = 2 * longest() - 1, me = gl_LocalInvocationIndex;
    uint firstRow = group() / blocks * ROWS, firstT = group() % blocks * 256;
    if (firstT >= entries || firstRow >= launch.rows) return;
    uint t = firstT + me;

    vec2 total[ROWS];
    [[unroll]] for (uint r = 0; r < ROWS; r++) total[r] = vec2(0.0);
    for (uint first = 0; first < launch.half_; first += FREQUENCIES) {
        barrier(); // all invocations must have read the coefficients before the next write
        uint c = me % FREQUENCIES, r = me / FREQUENCIES;
        coefficients[c * ROWS + r] = coefficient(firstRow + r, first + c);
        if (me < FREQUENCIES && first + c < launch.half_) frequencies[c] = turns[first + c];
        barrier();
        vec2 sum[ROWS];
        [[unroll]] for (uint r = 0; r < ROWS; r++) sum[r] = vec2(0.0);
        uint n = min(FREQUENCIES, launch.half_ - first);
        for (uint c = 0; c < n; c++) {
            float v = Cos(Turn(t, frequencies[c]));
            [[unroll]] for (uint r = 0; r < ROWS; r++) sum[r] += coefficients[c * ROWS + r] * v;
        }
        [[unroll]] for (uint r = 0; r < ROWS; r++) total[r] += sum[r];
    }
    if (t >= entries) return;
    [[unroll]] for (uint r = 0; r < ROWS; r++) {
        if (firstRow + r < launch.rows) store(firstRow + r, t, total[r]);
    }
}
