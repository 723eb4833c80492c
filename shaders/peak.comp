// Measures the rate of float32 arithmetic. In each of `turns` iterations, an invocation computes
// four multiply-adds of vec4; it writes a sum of the results to y. A multiply-add of two numbers is
// two operations, so an invocation performs 32·turns operations.
//
//   y [256·groups]
#version 450
#extension GL_GOOGLE_include_directive : require
#include "include/common.glsl"

layout(local_size_x = 256) in;
layout(push_constant) uniform Push { uint turns; float factor; };

OPERAND(1, writeonly, float, y);

void main() {
    uint i = group() * 256 + gl_LocalInvocationIndex;
    float first = float(i);
    vec4 a = vec4(first), b = vec4(first + 1), c = vec4(first + 2), d = vec4(first + 3);
    for (uint t = 0; t < turns; t++) {
        a = fma(a, vec4(factor), b);
        b = fma(b, vec4(factor), c);
        c = fma(c, vec4(factor), d);
        d = fma(d, vec4(factor), a);
    }
    a += b + c + d;
    y[i] = a.x + a.y + a.z + a.w;
}
