// The largest norms of the keys and of the values of each head:
//
//   largest[n] = max_j ‖k_j‖, largest[h + n] = max_j ‖v_j‖ over head n's channels
//
//   largest [2h], k, v [S, d], count [B], firstRows [B+1]
//
// A workgroup processes ROWS sampled rows of a sequence, for one head.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "include/common.glsl"
#include "include/attention.glsl"
#include "include/tiles.glsl"

layout(local_size_x = 64) in; // ROWS
layout(push_constant) uniform Push { uint heads, d, table; float scale; };

OPERAND(1, , uint, largest);
OPERAND(2, readonly, float, k);
OPERAND(3, readonly, float, v);
OPERAND(4, readonly, uint, count);
OPERAND(5, readonly, uint, firstRows);

void main() {
    uint head = group() % heads;
    Tile t;
    TILE_OF(firstRows, group() / heads, ROWS, t);
    uint j = t.from + gl_LocalInvocationIndex;
    if (t.b >= counts[2] || j >= min(t.to, t.first + count[t.b])) return;
    float x = 0, y = 0;
    for (uint c = 0; c < CHANNELS; c++) {
        uint word = j * d + head * CHANNELS + c;
        x += k[word] * k[word];
        y += v[word] * v[word];
    }
    atomicMax(largest[head], floatBitsToUint(sqrt(x)));
    atomicMax(largest[heads + head], floatBitsToUint(sqrt(y)));
}
