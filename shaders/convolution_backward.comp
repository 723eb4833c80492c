// dx_j (+)= Σ_t weight_t·dz_{j − (t − centre)·dilation}; rows of other sequences are
// left out.
//   dx [rows, width], dz [rows of the window, width], weight [taps, width],
//   sequence [rows], firstRows [B+1]
//
//   push: extent, taps, whether dx is set and not added to
#version 450
#extension GL_GOOGLE_include_directive : require
#include "include/common.glsl"
#include "include/convolution.glsl"

layout(push_constant) uniform Push { TAPS, assigns; } push;

void main() { EACH_SUM(-1, push.assigns != 0 ? 0.0 : sums[at], sums[at] = total) }
