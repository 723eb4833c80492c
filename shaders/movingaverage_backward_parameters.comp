// The last step of the backward pass of moving averages: the gradients of the parameters. The step
// before left the sums Σ x·r and Σ x·w of each sequence in r and w, at the sequence's first chunk.
// With R and W, their sums over the sequences, in order:
//
//   dgain = (1 − a)·R, ddecay = a·(1 − a)·gain·((1 − a)·W − R)
//
//   ddecay, dgain [2·averages, width], r, w [parts, 2·sets, channels] vectors
//   decay, gain [2·averages, width], offset [B+1]
//
// An invocation processes one set of averages of one channel.
//
//   push: averages, see movingaverage.glsl
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#include "include/common.glsl"

OPERAND(1, writeonly, float, ddecay);
OPERAND(2, writeonly, float, dgain);
OPERAND(3, readonly, vec4, r);
OPERAND(4, readonly, vec4, w);
OPERAND(5, readonly, float, decay);
OPERAND(6, readonly, float, gain);
OPERAND(7, readonly, uint, offset);

#include "include/movingaverage.glsl"

void main() {
    uint state = group() * LANES + gl_LocalInvocationIndex;
    if (state >= states()) return;
    vec4 byGain = vec4(0), byDecay = vec4(0);
    for (uint b = 0; b < used(push.axis, push.capacity); b++) {
        uint at = firstPart(offset[b], b) * states() + state;
        byGain += r[at];
        byDecay += w[at];
    }

    uint set = state / push.channels, channel = push.firstChannel + state % push.channels;
    vec4 parameters, a, rest;
    PARAMETERS(parameters, decay, set, channel)
    decays(parameters, a, rest);
    for (uint l = 0; l < SET; l++) {
        if (!exists(set, l)) break;
        uint at = parameterIndex(set, l, channel);
        dgain[at] = rest[l] * byGain[l];
        ddecay[at] = a[l] * rest[l] * gain[at] * (rest[l] * byDecay[l] - byGain[l]);
    }
}
