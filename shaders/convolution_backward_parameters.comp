// weight[p, t] = Σ_i dz_{i − (t − (w − 1)/2)·dilation}·x_i over chunk p of the rows i, for the taps
// t = from … to−1 of w: the gradients of the weights. Another launch adds these sums in order.
// The sum excludes rows of other sequences.
//   weight [pieces, w, width], x [rows, width], dz [rows of the window, width],
//   sequence [rows], firstRows [B+1]
//
// One workgroup processes 64 columns of one chunk and at most TAPS taps. It reads a row of x once
// for all of these taps.
//
//   push: extent, number of chunks (pieces), dilation, w, from, to, first row of the window
#version 450
#extension GL_GOOGLE_include_directive : require
#include "include/common.glsl"
#include "include/columns.glsl"

const uint TAPS = 8; // equal to convolutionTaps in vk/convolution.go

layout(push_constant) uniform Push { EXTENT, pieces, dilation, w, from, to, window; } push;

OPERAND(1, , float, weight);
OPERAND(2, readonly, float, x);
OPERAND(3, readonly, float, dz);
OPERAND(4, readonly, uint, sequence);
OPERAND(5, readonly, uint, firstRows);

void main() {
    uint across = divideUp(push.width, COLUMNS), piece = group() / across;
    if (piece >= push.pieces) return;
    uint c = group() % across * COLUMNS + column();
    uint n = used(push.axis, push.capacity);
    uvec2 range = pieceRange(piece, pieceRows(n), n, push.first, push.rows);

    float sums[TAPS];
    for (uint t = 0; t < TAPS; t++) sums[t] = 0;
    if (c < push.width) {
        for (uint at = range.x; at < range.y; at += STRETCH) {
            float parts[TAPS];
            for (uint t = 0; t < TAPS; t++) parts[t] = 0;
            for (uint i = at + lane(); i < min(range.y, at + STRETCH); i += LANES) {
                uint b = sequence[i];
                int lo = int(firstRows[b]), hi = int(firstRows[b + 1]);
                float v = x[i * push.width + c];
                for (uint t = 0; t < TAPS; t++) {
                    int j = int(push.first + i) - (int(push.from + t) - int(push.w / 2)) * int(push.dilation);
                    if (push.from + t < push.to && j >= lo && j < hi) parts[t] += dz[(uint(j) - push.window) * push.width + c] * v;
                }
            }
            for (uint t = 0; t < TAPS; t++) sums[t] += parts[t];
        }
    }
    for (uint t = 0; t < TAPS; t++) {
        float sum = columnAdd(sums[t]);
        if (lane() != 0 || c >= push.width || push.from + t >= push.to) continue;
        uint to = (piece * push.w + push.from + t) * push.width + c;
        weight[to] = push.first > 0 ? weight[to] + sum : sum;
    }
}
