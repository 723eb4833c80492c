// y = [u, v, u∘v, u−v] for each pair of consecutive rows u, v of x.
//   y [E, 4·width], x [2E, width]
//
// One workgroup processes 1024 elements of each of the four parts.
//
//   push: extent of the rows of y, with the width of x
#version 450
#extension GL_GOOGLE_include_directive : require
#include "include/common.glsl"
#include "include/elements.glsl"

layout(push_constant) uniform Push { EXTENT; } push;

OPERAND(1, writeonly, float, y);
OPERAND(2, readonly, float, x);

void main() {
    uint d = push.width;
    EACH_ELEMENT(i) {
        uint e = i / d, c = i % d, at = 4 * e * d + c;
        float u = x[2 * e * d + c], v = x[(2 * e + 1) * d + c];
        y[at] = u;
        y[at + d] = v;
        y[at + 2 * d] = u * v;
        y[at + 3 * d] = u - v;
    }
}
