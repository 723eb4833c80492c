// dx = dy·(Φ(x) + x·φ(x)); dx may be dy.
//   dx, dy, x [rows, width]
//
// One workgroup processes 1024 elements.
//
//   push: extent
#version 450
#extension GL_GOOGLE_include_directive : require
#include "include/common.glsl"
#include "include/aliased.glsl"
#include "include/elements.glsl"
#include "include/math.glsl"

layout(push_constant) uniform Push { EXTENT; } push;

ALIASED(1, writeonly, float, dx);
ALIASED(2, readonly, float, dy);
ALIASED(3, readonly, float, x);

void main() {
    EACH_ELEMENT(i) dx[i] = dy[i] * GeluGrad(x[i]);
}
