// For each pair of consecutive rows u, v of x, with dy = [a, b, c, e]: du = a + c∘v + e and dv = b
// + c∘u − e.
//   dx, x [2E, width], dy [E, 4·width]
//
// One workgroup processes 1024 pairs of elements of u and v.
//
//   push: extent of the rows of dy, with the width of x
#version 450
#extension GL_GOOGLE_include_directive : require
#include "include/common.glsl"
#include "include/elements.glsl"

layout(push_constant) uniform Push { EXTENT; } push;

OPERAND(1, writeonly, float, dx);
OPERAND(2, readonly, float, dy);
OPERAND(3, readonly, float, x);

void main() {
    uint d = push.width;
    EACH_ELEMENT(i) {
        uint row = i / d, c = i % d, u = 2 * row * d + c, v = u + d, at = 4 * row * d + c;
        float product = dy[at + 2 * d], difference = dy[at + 3 * d];
        dx[u] = dy[at] + product * x[v] + difference;
        dx[v] = dy[at + d] + product * x[u] - difference;
    }
}
