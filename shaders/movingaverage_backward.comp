// The third step of the backward pass of moving averages, dx_i = Σ_s (1 − a_s)·gain_s·r_{s,i}, with
// the states
//
//   r_i = dz_i + a·r_{i±1}, w_i = r_{i±1} + a·w_{i±1}
//
// It processes each chunk from the states of the second step, and replaces these states by the
// chunk's sums Σ x·r and Σ x·w.
//   dx [rows of the window, width], r, w [parts, 2·sets, channels] vectors
//   dz, x [rows of the window, width], decay, gain [2·averages, width], offset [B+1]
//
// One workgroup processes 64 channels of one chunk, like movingaverage.comp.
//
//   push: averages and window, see movingaverage.glsl
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#include "include/common.glsl"

OPERAND(1, , float, dx);
OPERAND(2, , vec4, r);
OPERAND(3, , vec4, w);
OPERAND(4, readonly, float, dz);
OPERAND(5, readonly, float, x);
OPERAND(6, readonly, float, decay);
OPERAND(7, readonly, float, gain);
OPERAND(8, readonly, uint, offset);

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
        uint state = part * states() + set * push.channels + c;
        bool begins = push.firstSet == 0 && i == 0;
        vec4 parameters, a, rest, factor, h = r[state], slope = w[state], byGain = vec4(0), byDecay = vec4(0);
        PARAMETERS(parameters, decay, set, channel)
        decays(parameters, a, rest);
        PARAMETERS(factor, gain, set, channel)
        factor *= rest;
        float g[STEPS], v[STEPS], sums[STEPS];
        EACH_ROW(set >= push.sets, n, (chunk.x - push.first) * push.width + channel, push.width, {
            g[k] = dz[at];
            v[k] = x[at];
            sums[k] = begins ? 0 : dx[at];
        }, {
            slope = a * slope + h;
            h = a * h + g[k];
            byGain += v[k] * h;
            byDecay += v[k] * slope;
            dx[at] = sums[k] + dot(factor, h);
        })
        r[state] = byGain;
        w[state] = byDecay;
    }
}
