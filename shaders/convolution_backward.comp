// dx_j (+)= Σ_t weight_t·dz_{j − (t − centre)·dilation}. The sum excludes rows of other sequences.
//   dx [rows, width], dz [rows of the window, width], weight [taps, width],
//   sequence [rows], firstRows [B+1]
//
//   push: extent, taps, whether to set dx instead of adding to it
#version 450
#extension GL_GOOGLE_include_directive : require
#include "include/common.glsl"
#include "include/convolution.glsl"

layout(push_constant) uniform Push { TAPS, assigns; } push;

void main() { EACH_SUM(-1, push.assigns != 0 ? 0.0 : sums[at], sums[at] = total) }
