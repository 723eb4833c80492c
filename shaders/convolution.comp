// z_i = bias + Σ_t weight_t·x_{i + (t − centre)·dilation}, y = a + GELU(z). The sum excludes rows
// of other sequences.
//   y, a, z [rows, width], x [rows of the window, width], weight [taps, width],
//   bias [width], sequence [rows], firstRows [B+1]
//
// Between launches, y holds the sums of the taps so far.
//
//   push: extent, taps, whether the launch has the first taps, whether it has the last taps,
//   and whether to write z
#version 450
#extension GL_GOOGLE_include_directive : require
#include "include/common.glsl"
#include "include/convolution.glsl"
#include "include/math.glsl"

layout(push_constant) uniform Push { TAPS, begins, ends, saves; } push;

OPERAND(6, readonly, float, bias);
OPERAND(7, readonly, float, a);
OPERAND(8, writeonly, float, z);

void store(uint at, float total) {
    if (push.ends == 0) {
        sums[at] = total;
        return;
    }
    if (push.saves != 0) z[at] = total;
    precise float y = a[at] + Gelu(total);
    sums[at] = y;
}

void main() { EACH_SUM(1, push.begins != 0 ? bias[c] : sums[at], store(at, total)) }
