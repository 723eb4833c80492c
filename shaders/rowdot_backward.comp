// dx += dy·weight, and dweight[p] = Σ dy·x and dbias[p] = Σ dy over chunk p of the rows. Another
// launch adds these sums in order.
//   dx, x [rows, width], dy [rows], weight [width], dweight [pieces, width],
//   dbias [pieces]
//
// One workgroup processes 64 columns of one chunk.
//
//   push: extent, number of chunks (pieces)
#version 450
#extension GL_GOOGLE_include_directive : require
#include "include/common.glsl"
#include "include/columns.glsl"

layout(push_constant) uniform Push { EXTENT, pieces; } push;

OPERAND(1, , float, dx);
OPERAND(2, , float, dweight);
OPERAND(3, , float, dbias);
OPERAND(4, readonly, float, dy);
OPERAND(5, readonly, float, x);
OPERAND(6, readonly, float, weight);

void main() {
    uint across = divideUp(push.width, COLUMNS), piece = group() / across;
    if (piece >= push.pieces) return;
    uint c = group() % across * COLUMNS + column();
    uint n = used(push.axis, push.capacity);
    uvec2 range = pieceRange(piece, pieceRows(n), n, push.first, push.rows);

    float along = 0, sum = 0;
    if (c < push.width) {
        float w = weight[c];
        for (uint at = range.x; at < range.y; at += STRETCH) {
            float a = 0, s = 0;
            for (uint i = at + lane(); i < min(range.y, at + STRETCH); i += LANES) {
                float g = dy[i];
                a += g * x[i * push.width + c];
                s += g;
                dx[i * push.width + c] += g * w;
            }
            along += a;
            sum += s;
        }
    }
    along = columnAdd(along);
    sum = columnAdd(sum);
    if (lane() != 0 || c >= push.width) return;
    uint to = piece * push.width + c;
    dweight[to] = push.first > 0 ? dweight[to] + along : along;
    if (c == 0) dbias[piece] = push.first > 0 ? dbias[piece] + sum : sum;
}
