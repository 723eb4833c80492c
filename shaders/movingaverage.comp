// The last step of moving averages, z = bias + Σ_s gain_s·(1 − a_s)·h_s, with the states
// h_i = a·h_{i∓1} + x_i. It processes each chunk from the states of the second step.
//   z [rows of the window, width], carried [parts, 2·sets, channels] vectors of states
//   x [rows of the window, width], decay, gain [2·averages, width], bias [width], offset [B+1]
//
// One workgroup processes 64 channels of one chunk. It adds the sets of averages to z in order,
// the forward before the backward averages of each set. A launch binds the rows from row `first` on,
// and processes the chunks that begin among the first span rows.
//
//   push: averages and window, see movingaverage.glsl
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#include "include/common.glsl"

OPERAND(1, , float, z);
OPERAND(2, readonly, vec4, carried);
OPERAND(3, readonly, float, x);
OPERAND(4, readonly, float, decay);
OPERAND(5, readonly, float, gain);
OPERAND(6, readonly, float, bias);
OPERAND(7, readonly, uint, offset);

#include "include/movingaverage.glsl"

void main() {
    uint across = divideUp(push.channels, LANES), part = group() / across;
    uint c = group() % across * LANES + gl_LocalInvocationIndex;
    if (part >= push.parts || c >= push.channels) return;
    uvec2 chunk = chunkRange(part);
    if (outside(chunk)) return;
    uint channel = push.firstChannel + c, n = chunk.y - chunk.x;

    for (uint i = 0; i < 2 * push.sets; i++) {
        uint set = i / 2 + i % 2 * push.sets; // both directions of a set
        bool begins = push.firstSet == 0 && i == 0;
        vec4 parameters, a, rest, factor, h = carried[part * states() + set * push.channels + c];
        PARAMETERS(parameters, decay, set, channel)
        decays(parameters, a, rest);
        PARAMETERS(factor, gain, set, channel)
        factor *= rest;
        float v[STEPS], sums[STEPS];
        EACH_ROW(set < push.sets, n, (chunk.x - push.first) * push.width + channel, push.width, {
            v[k] = x[at];
            sums[k] = begins ? bias[channel] : z[at];
        }, {
            h = a * h + v[k];
            z[at] = sums[k] + dot(factor, h);
        })
    }
}
