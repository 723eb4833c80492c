// The last stage of a sum in parts: the sum Σ_p parts[p·n + i] for p = 0 … count−1, in this order.
// Depending on start, the sum is assigned to y[i], is added to y[i] or continues an earlier sum in
// y[i]. One invocation processes one i.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "include/common.glsl"

layout(local_size_x = 64) in;
layout(push_constant) uniform Push { uint n, count, start; };

const uint ADD = 1, RESUME = 2; // values of start other than 0, equal to those in vk/recorder.go

OPERAND(1, , float, y);
OPERAND(2, readonly, float, parts);

void main() {
    uint i = group() * 64 + gl_LocalInvocationID.x;
    if (i >= n) return;
    float sum = start == RESUME ? y[i] : 0;
    for (uint p = 0; p < count; p++) sum += parts[p * n + i];
    y[i] = start == ADD ? y[i] + sum : sum;
}
