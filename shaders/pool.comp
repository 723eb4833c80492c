// The first of three steps of y = Σ_i softmax(score)_i x_i, per sequence. For a chunk of the
// sequence it computes top = max score, sum = Σ exp(score − top), part = Σ exp(score − top)·x.
//   top, sum [parts], part [parts, width], x [T, width], score [T], offset [B+1]
//
// One workgroup processes 64 columns of one chunk. A launch binds x from row `first` on, and
// processes the chunks that begin among the first span rows.
//
//   push: axis and capacity of the sequences, width, parts, first, span
#version 450
#extension GL_GOOGLE_include_directive : require
#include "include/common.glsl"
#include "include/columns.glsl"
#include "include/reduce.glsl"
#include "include/math.glsl"

layout(push_constant) uniform Push { uint axis, capacity, width, parts, first, span; } push;

OPERAND(1, writeonly, float, top);
OPERAND(2, writeonly, float, sum);
OPERAND(3, writeonly, float, part);
OPERAND(4, readonly, float, x);
OPERAND(5, readonly, float, score);
OPERAND(6, readonly, uint, offset);

#include "include/pooling.glsl"

shared float weights[256];

void main() {
    uint across = divideUp(push.width, COLUMNS), p = group() / across, me = gl_LocalInvocationIndex;
    if (p >= push.parts) return;
    uint b = sequenceOf(p), base = offset[b], stop = offset[b + 1], length = pieceRows(stop - base);
    uint begin = base + (p - firstPart(base, b)) * length, end = min(stop, begin + length);
    if (begin >= stop || begin < push.first || begin - push.first >= push.span) return;

    float high = score[begin];
    for (uint i = begin + me; i < end; i += 256) high = max(high, score[i]);
    high = reduceMax(high);

    uint c = group() % across * COLUMNS + column();
    float all = 0, total = 0;
    for (uint at = begin; at < end; at += 256) {
        weights[me] = at + me < end ? Exp(score[at + me] - high) : 0;
        all += weights[me];
        barrier();
        float stretch = 0;
        if (c < push.width) {
            for (uint i = lane(); i < min(256, end - at); i += LANES) stretch += weights[i] * x[(at - push.first + i) * push.width + c];
        }
        total += stretch;
        barrier();
    }
    all = reduceAdd(all);
    total = columnAdd(total);
    if (lane() == 0 && c < push.width) part[p * push.width + c] = total;
    if (me == 0 && c == 0) {
        top[p] = high;
        sum[p] = all;
    }
}
