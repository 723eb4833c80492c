// The third step of pooling: a = exp(score − M)/Z, with total = [M, Z] of the row's sequence.
//   a, score, sequence [T], total [B, 2]
//
// One workgroup processes 1024 tokens.
//
//   push: extent
#version 450
#extension GL_GOOGLE_include_directive : require
#include "include/common.glsl"
#include "include/elements.glsl"
#include "include/math.glsl"

layout(push_constant) uniform Push { EXTENT; } push;

OPERAND(1, writeonly, float, a);
OPERAND(2, readonly, float, score);
OPERAND(3, readonly, uint, sequence);
OPERAND(4, readonly, float, total);

void main() {
    EACH_ELEMENT(i) {
        uint b = sequence[i];
        a[i] = Exp(score[i] - total[2 * b]) / total[2 * b + 1];
    }
}
