// y[t] = weight[token[t]]
//   y [rows, width], token [rows], weight [V, width]
//
// One workgroup processes 1024 elements.
//
//   push: extent
#version 450
#extension GL_GOOGLE_include_directive : require
#include "include/common.glsl"
#include "include/elements.glsl"

layout(push_constant) uniform Push { EXTENT; } push;

OPERAND(1, writeonly, float, y);
OPERAND(2, readonly, uint, token);
OPERAND(3, readonly, float, weight);

void main() {
    EACH_ELEMENT(i) y[i] = weight[token[i / push.width] * push.width + i % push.width];
}
