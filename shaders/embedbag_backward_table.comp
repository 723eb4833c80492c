// dtable[u] = Σ_i dx[token[i]] for i = offset[u] … offset[u+1]−1, in this order. A launch adds the
// tokens of one block, from tokenFirst on. If tokenFirst is not 0, the sum is added to dtable.
//   dtable [rows, width], offset [rows + 1], token [offset[rows]], dx [tokens, width] from token tokenFirst on
//
// One workgroup processes 1024 elements.
//
//   push: extent, tokenFirst, tokens
#version 450
#extension GL_GOOGLE_include_directive : require
#include "include/common.glsl"
#include "include/elements.glsl"

layout(push_constant) uniform Push { EXTENT, tokenFirst, tokens; } push;

OPERAND(1, , float, dtable);
OPERAND(2, readonly, float, dx);
OPERAND(3, readonly, uint, offset);
OPERAND(4, readonly, uint, token);

void main() {
    EACH_ELEMENT(i) {
        uint u = i / push.width, c = i % push.width;
        precise float sum = push.tokenFirst == 0 ? 0 : dtable[i];
        for (uint j = offset[u]; j < offset[u + 1]; j++) {
            uint at = token[j] - push.tokenFirst;
            if (at < push.tokens) sum += dx[at * push.width + c];
        }
        dtable[i] = sum;
    }
}
