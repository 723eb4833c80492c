// The second step of moving averages. It replaces the states at the end of each chunk, computed from
// zero states, with the states at the beginning of the chunk. A chunk of m rows maps the states (r, w) to
//
//   r' = aᵐ·r + end of r, w' = aᵐ·w + m·aᵐ⁻¹·r + end of w
//
//   r, w [parts, 2·sets, channels] vectors; w is bound only for the adjoint
//   decay [2·averages, width], offset [B+1]
//
// An invocation processes one set of averages of one channel of a sequence, chunk by chunk. The last
// chunk may have fewer rows, but its m does not matter: in ascending order no chunk follows it, and
// in descending order it begins with zero states.
//
//   push: averages, see movingaverage.glsl
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#include "include/common.glsl"

layout(constant_id = 0) const bool ADJOINT = false;

OPERAND(1, , vec4, r);
OPERAND(2, , vec4, w);
OPERAND(3, readonly, float, decay);
OPERAND(4, readonly, uint, offset);

#include "include/movingaverage.glsl"

void main() {
    uint i = group() * LANES + gl_LocalInvocationIndex, b = i / states(), state = i % states();
    if (b >= used(push.axis, push.capacity)) return;
    uint set = state / push.channels, base = offset[b], length = offset[b + 1] - base;
    uint rows = chunkRows(length), n = divideUp(length, rows);
    bool ascending = (set < push.sets) != ADJOINT;

    vec4 parameters, a, rest, power, h = vec4(0), slope = vec4(0);
    PARAMETERS(parameters, decay, set, push.firstChannel + state % push.channels)
    decays(parameters, a, rest);
    for (uint l = 0; l < SET; l++) power[l] = Exp(float(rows - 1) * Log(a[l])); // aᵐ⁻¹
    vec4 ends[STEPS], slopes[STEPS];
    EACH_ROW(ascending, n, firstPart(base, b) * states() + state, states(), {
        ends[k] = r[at];
        if (ADJOINT) slopes[k] = w[at];
    }, {
        r[at] = h;
        if (ADJOINT) {
            w[at] = slope;
            slope = power * (a * slope + float(rows) * h) + slopes[k];
        }
        h = power * (a * h) + ends[k];
    })
}
