// gain[p] = Σ dy·x̂ and bias[p] = Σ dy over chunk p of the rows, with x̂ = (x − mean)·rstd: the
// gradients of the parameters. Another launch adds these sums in order.
//   dy, x [rows, width], mean, rstd [rows], gain, bias [pieces, width]
//
// One workgroup processes 64 columns of one chunk.
//
//   push: extent, number of chunks (pieces)
#version 450
#extension GL_GOOGLE_include_directive : require
#include "include/common.glsl"
#include "include/columns.glsl"

layout(push_constant) uniform Push { EXTENT, pieces; } push;

OPERAND(1, , float, gain);
OPERAND(2, , float, bias);
OPERAND(3, readonly, float, dy);
OPERAND(4, readonly, float, x);
OPERAND(5, readonly, float, mean);
OPERAND(6, readonly, float, rstd);

void main() {
    uint across = divideUp(push.width, COLUMNS), piece = group() / across;
    if (piece >= push.pieces) return;
    uint c = group() % across * COLUMNS + column();
    uint n = used(push.axis, push.capacity);
    uvec2 range = pieceRange(piece, pieceRows(n), n, push.first, push.rows);

    float dgain = 0, dbias = 0;
    if (c < push.width) {
        for (uint at = range.x; at < range.y; at += STRETCH) {
            float along = 0, sum = 0;
            for (uint i = at + lane(); i < min(range.y, at + STRETCH); i += LANES) {
                float g = dy[i * push.width + c];
                along += g * ((x[i * push.width + c] - mean[i]) * rstd[i]);
                sum += g;
            }
            dgain += along;
            dbias += sum;
        }
    }
    dgain = columnAdd(dgain);
    dbias = columnAdd(dbias);
    if (lane() != 0 || c >= push.width) return;
    uint to = piece * push.width + c;
    gain[to] = push.first > 0 ? gain[to] + dgain : dgain;
    bias[to] = push.first > 0 ? bias[to] + dbias : dbias;
}
