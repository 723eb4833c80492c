// y = x·Φ(x), exact (erf); y may be x.
//   y, x [rows, width]
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

ALIASED(1, writeonly, float, y);
ALIASED(2, readonly, float, x);

void main() {
    EACH_ELEMENT(i) y[i] = Gelu(x[i]);
}
