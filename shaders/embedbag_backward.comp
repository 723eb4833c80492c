// dx[t] = scale[t]·dy[t]; dx may be dy.
//   dx, dy [rows, width], scale [rows]
//
// One workgroup processes 1024 elements.
//
//   push: extent
#version 450
#extension GL_GOOGLE_include_directive : require
#include "include/common.glsl"
#include "include/aliased.glsl"
#include "include/elements.glsl"

layout(push_constant) uniform Push { EXTENT; } push;

ALIASED(1, writeonly, float, dx);
ALIASED(2, readonly, float, dy);
OPERAND(3, readonly, float, scale);

void main() {
    EACH_ELEMENT(i) dx[i] = scale[i / push.width] * dy[i];
}
