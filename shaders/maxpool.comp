// The first of two steps that compute y_c = max_i x_ic over a sequence's rows in use, and the
// lowest such i. For a chunk of the rows, this step computes the maximum `top` and its row `at`.
//   top, at [parts, width], x [rows, width]
//   offset [B+1]: first row of each sequence; count [B]: number of its rows in use
//
// The row `at` is relative to the sequence, or NOWHERE if no row of the chunk is in use. One
// workgroup processes 64 columns of one chunk. A launch binds x from row `first` on, and processes
// the chunks that begin among the first span rows.
//
//   push: axis and capacity of the sequences, width, parts, first, span, and
//   whether count has the rows in use; otherwise all rows are in use
#version 450
#extension GL_GOOGLE_include_directive : require
#include "include/common.glsl"
#include "include/columns.glsl"
#include "include/maxpool.glsl"

layout(push_constant) uniform Push { uint axis, capacity, width, parts, first, span, counted; } push;

OPERAND(1, writeonly, float, top);
OPERAND(2, writeonly, uint, at);
OPERAND(3, readonly, float, x);
OPERAND(4, readonly, uint, offset);
OPERAND(5, readonly, uint, count);

#include "include/pooling.glsl"

void main() {
    uint across = divideUp(push.width, COLUMNS), p = group() / across;
    if (p >= push.parts) return;
    uint b = sequenceOf(p), base = offset[b], stop = offset[b + 1], length = pieceRows(stop - base);
    uint begin = base + (p - firstPart(base, b)) * length, end = min(stop, begin + length);
    if (begin >= stop || begin < push.first || begin - push.first >= push.span) return;
    if (push.counted != 0) end = min(end, base + count[b]);

    uint c = group() % across * COLUMNS + column();
    Largest found = Largest(0, NOWHERE);
    if (c < push.width) {
        for (uint i = begin + lane(); i < end; i += LANES) found = larger(found, Largest(x[(i - push.first) * push.width + c], i - base));
    }
    found = columnLargest(found);
    if (lane() == 0 && c < push.width) {
        top[p * push.width + c] = found.value;
        at[p * push.width + c] = found.row;
    }
}
