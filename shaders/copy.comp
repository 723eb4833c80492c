// y = x, with four words per invocation.
//
//   y, x [n], where n is a multiple of 4
#version 450
#extension GL_GOOGLE_include_directive : require
#include "include/common.glsl"

layout(local_size_x = 256) in;
layout(push_constant) uniform Push { uint n; };

OPERAND(1, writeonly, vec4, y);
OPERAND(2, readonly, vec4, x);

void main() {
    uint i = group() * 256 + gl_LocalInvocationIndex;
    if (i < n / 4) y[i] = x[i];
}
