#version 450
#extension GL_GOOGLE_include_directive : require
// Dropout: y = x/(1 − rate) if the element's uniform number is at least the rate, else 0.
//
//   y, x [rows, width]: may be the same memory
//   firstRows [B+1]: first token row or sampled row of each sequence
//   example, tower [B], random [3]: counter and seed of the random numbers
//
// Element n = row·width + channel uses word n & 3 of draw n >> 2; rows are counted from the first
// row of the sequence. An invocation processes the four elements of a draw if the width is a
// multiple of four. Otherwise a draw may span two sequences, and an invocation processes one
// element. y and x are blocks of rows if all rows would not fit into a binding. Push: the members of
// `launch`.
#include "include/common.glsl"
#include "include/aliased.glsl"
#include "include/extent.glsl"
#include "include/philox.glsl"

layout(local_size_x = 256) in;
layout(constant_id = 0) const bool WHOLE_DRAWS = false; // true if width is a multiple of four

layout(push_constant) uniform Launch {
    uint axis, capacity, first, rows, width, layer, stream; // the block has `rows` rows from row `first` on
    float rate, scale;
} launch;

ALIASED(1, writeonly, float, y);
ALIASED(2, readonly, float, x);
OPERAND(3, readonly, uint, firstRows);
OPERAND(4, readonly, uint, example);
OPERAND(5, readonly, uint, tower);
OPERAND(6, readonly, uint, random);

// Views of y and x as vectors of four words.
spirv_decorate(20) layout(set = 0, binding = 1, std430) writeonly buffer Y4 { vec4 y4[]; };
spirv_decorate(20) layout(set = 0, binding = 2, std430) readonly buffer X4 { vec4 x4[]; };

#include "include/sequence.glsl"

// draw returns the four words of the draw for element i of the block, and the element's number.
uvec4 draw(uint i, out uint n) {
    uint b = sequenceOf(launch.first + i / launch.width);
    n = i + (launch.first - firstRows[b]) * launch.width; // wraps modulo 2³²
    return Philox(uvec2(random[0], random[1]), Counter(n >> 2, tower[b], launch.layer, launch.stream, example[b], random[2]));
}

float keep(uint word, float v) { return Uniform(word) >= launch.rate ? v * launch.scale : 0.0; }

void main() {
    uint i = group() * 256 + gl_LocalInvocationIndex;
    uint elements = usedRows(launch.axis, launch.capacity, launch.first, launch.rows) * launch.width;
    uint n;
    if (WHOLE_DRAWS) {
        if (i >= elements / 4) return;
        uvec4 words = draw(4 * i, n);
        vec4 v = x4[i];
        y4[i] = vec4(keep(words.x, v.x), keep(words.y, v.y), keep(words.z, v.z), keep(words.w, v.w));
    } else {
        if (i >= elements) return;
        uvec4 words = draw(i, n);
        y[i] = keep(words[n & 3], x[i]);
    }
}
