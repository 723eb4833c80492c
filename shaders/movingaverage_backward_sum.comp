// The fourth step of the backward pass of moving averages: adds the sums of a sequence's chunks in
// order. The sum replaces the sum of the first chunk.
//   r, w [parts, 2·sets, channels] vectors, offset [B+1]
//
// An invocation processes one set of averages of one channel of a sequence.
//
//   push: averages, see movingaverage.glsl
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#include "include/common.glsl"

OPERAND(1, , vec4, r);
OPERAND(2, , vec4, w);
OPERAND(3, readonly, uint, offset);

#include "include/movingaverage.glsl"

void main() {
    uint i = group() * LANES + gl_LocalInvocationIndex, b = i / states(), state = i % states();
    if (b >= used(push.axis, push.capacity)) return;
    uint base = offset[b], length = offset[b + 1] - base, n = divideUp(length, chunkRows(length));
    uint first = firstPart(base, b) * states() + state;

    vec4 byGain = vec4(0), byDecay = vec4(0), gains[STEPS], slopes[STEPS];
    EACH_ROW(true, n, first, states(), {
        gains[k] = r[at];
        slopes[k] = w[at];
    }, {
        byGain += gains[k];
        byDecay += slopes[k];
    })
    r[first] = byGain;
    w[first] = byDecay;
}
