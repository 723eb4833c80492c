// y = a + scale·b; y may be a or b.
//   y, a, b [rows, width], scale [1]
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

ALIASED(1, writeonly, float, y);
ALIASED(2, readonly, float, a);
ALIASED(3, readonly, float, b);
OPERAND(4, readonly, float, scale);

void main() {
    EACH_ELEMENT(i) y[i] = a[i] + scale[0] * b[i];
}
