// The first step of moving averages: the states at the end of each chunk, computed from zero states.
//
//   h_i = a·h_{i∓1} + x_i
//   r_i = x_i + a·r_{i±1}, w_i = r_{i±1} + a·w_{i±1}   for the adjoint, where x is the gradient of z
//
//   r, w [parts, 2·sets, channels] vectors; r also holds h
//   x [rows of the window, width], decay [2·averages, width], offset [B+1]
//
// One workgroup processes 64 channels of one chunk, and one set of averages of one direction. A
// launch binds x from row `first` on, and processes the chunks that begin among the first span rows.
//
//   push: averages and window, see movingaverage.glsl
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#include "include/common.glsl"

layout(constant_id = 0) const bool ADJOINT = false;

OPERAND(1, writeonly, vec4, r);
OPERAND(2, writeonly, vec4, w);
OPERAND(3, readonly, float, x);
OPERAND(4, readonly, float, decay);
OPERAND(5, readonly, uint, offset);

#include "include/movingaverage.glsl"

void main() {
    uint across = divideUp(push.channels, LANES), set = group() % (2 * push.sets), block = group() / (2 * push.sets);
    uint part = block / across, c = block % across * LANES + gl_LocalInvocationIndex;
    if (part >= push.parts || c >= push.channels) return;
    uvec2 chunk = chunkRange(part);
    if (outside(chunk)) return;
    uint channel = push.firstChannel + c, n = chunk.y - chunk.x;
    bool ascending = (set < push.sets) != ADJOINT;

    vec4 parameters, a, rest, h = vec4(0), slope = vec4(0);
    PARAMETERS(parameters, decay, set, channel)
    decays(parameters, a, rest);
    float v[STEPS];
    EACH_ROW(ascending, n, (chunk.x - push.first) * push.width + channel, push.width, v[k] = x[at], {
        if (ADJOINT) slope = a * slope + h;
        h = a * h + v[k];
    })
    uint to = part * states() + set * push.channels + c;
    r[to] = h;
    if (ADJOINT) w[to] = slope;
}
