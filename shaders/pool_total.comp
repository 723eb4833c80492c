// The second step of pooling. With M = max top over the chunks of a sequence and Z = Σ exp(top −
// M)·sum, it computes total = [M, Z] and y = Σ exp(top − M)·part / Z.
//   total [B, 2], y [B, width], top, sum [parts], part [parts, width], offset [B+1]
//
// One workgroup processes 64 columns of one sequence.
//
//   push: axis and capacity of the sequences, width
#version 450
#extension GL_GOOGLE_include_directive : require
#include "include/common.glsl"
#include "include/columns.glsl"
#include "include/reduce.glsl"
#include "include/math.glsl"

layout(push_constant) uniform Push { uint axis, capacity, width; } push;

OPERAND(1, writeonly, float, total);
OPERAND(2, writeonly, float, y);
OPERAND(3, readonly, float, top);
OPERAND(4, readonly, float, sum);
OPERAND(5, readonly, float, part);
OPERAND(6, readonly, uint, offset);

#include "include/pooling.glsl"

shared float weights[PIECES];

void main() {
    uint across = divideUp(push.width, COLUMNS), b = group() / across, me = gl_LocalInvocationIndex;
    if (b >= used(push.axis, push.capacity)) return;
    uint base = offset[b], length = offset[b + 1] - base;
    uint pieces = divideUp(length, pieceRows(length)), first = firstPart(base, b);

    float high = reduceMax(top[first + min(me, pieces - 1)]);
    float all = 0;
    if (me < pieces) {
        weights[me] = Exp(top[first + me] - high);
        all = weights[me] * sum[first + me];
    }
    all = reduceAdd(all);
    barrier();

    uint c = group() % across * COLUMNS + column();
    float pooled = 0;
    if (c < push.width) {
        for (uint p = lane(); p < pieces; p += LANES) pooled += weights[p] * part[(first + p) * push.width + c];
    }
    pooled = columnAdd(pooled);
    if (lane() == 0 && c < push.width) y[b * push.width + c] = pooled / all;
    if (me == 0 && c == 0) {
        total[2 * b] = high;
        total[2 * b + 1] = all;
    }
}
