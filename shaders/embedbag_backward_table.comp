// dtable[u] = Σ_i dx[token[i]] for i from offset[u] to offset[u+1] − 1, in their order.
//   dtable [rows, width], dx [T, width], offset [rows + 1], token [offset[U]]
//
// One workgroup processes 1024 elements.
//
//   push: extent
#version 450
#extension GL_GOOGLE_include_directive : require
#include "include/common.glsl"
#include "include/elements.glsl"

layout(push_constant) uniform Push { EXTENT; } push;

OPERAND(1, writeonly, float, dtable);
OPERAND(2, readonly, float, dx);
OPERAND(3, readonly, uint, offset);
OPERAND(4, readonly, uint, token);

void main() {
    EACH_ELEMENT(i) {
        uint u = i / push.width, c = i % push.width;
        precise float sum = 0;
        for (uint j = offset[u]; j < offset[u + 1]; j++) sum += dx[token[j] * push.width + c];
        dtable[i] = sum;
    }
}
