// db = scale·dy, and part[p] = Σ dy·b over chunk p of the rows: the gradient of scale. Another
// launch adds the parts in order. db may be dy or b.
//   db, dy, b [rows, width], scale [1], part [pieces]
//
// One workgroup processes one chunk, whose words are contiguous.
//
//   push: extent, number of chunks (pieces)
#version 450
#extension GL_GOOGLE_include_directive : require
#include "include/common.glsl"
#include "include/aliased.glsl"
#include "include/columns.glsl"
#include "include/reduce.glsl"

layout(push_constant) uniform Push { EXTENT, pieces; } push;

ALIASED(1, writeonly, float, db);
OPERAND(2, , float, part);
ALIASED(3, readonly, float, dy);
ALIASED(4, readonly, float, b);
OPERAND(5, readonly, float, scale);

const uint SPAN = 32 * 256; // number of words whose sum is added to the total

void main() {
    uint piece = group();
    if (piece >= push.pieces) return;
    uint n = used(push.axis, push.capacity);
    uvec2 range = push.width * pieceRange(piece, pieceRows(n), n, push.first, push.rows);
    float s = scale[0], total = 0;
    for (uint at = range.x; at < range.y; at += SPAN) {
        float sum = 0;
        for (uint i = at + gl_LocalInvocationIndex; i < min(range.y, at + SPAN); i += 256) {
            float g = dy[i];
            sum += g * b[i];
            db[i] = s * g;
        }
        total += sum;
    }
    total = reduceAdd(total);
    if (gl_LocalInvocationIndex == 0) part[piece] = push.first > 0 ? part[piece] + total : total;
}
