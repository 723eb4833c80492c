// Moving averages in chunks of rows. The first step computes the end states of each chunk from zero
// states. The second step computes the states with which each chunk begins. The third step
// processes each chunk again, from these states. Chunks have the layout of pooling.glsl, and
// their borders and the order of additions depend only on the length of the sequence.
//
// States omit the factor 1 − a of their input: h = a·h + x. The adjoint processes pairs of states
// (r, w) against the direction of h; w is the derivative of r with respect to a. An invocation
// processes one channel and a set of SET averages of one direction. The states of a launch are
// vectors of SET states, [parts, 2·sets, channels]: first the sets of the forward averages.
//
// Include this file after the declaration of offset[], the first row of each sequence.
#ifndef MOVINGAVERAGE_GLSL
#define MOVINGAVERAGE_GLSL
#include "math.glsl"

layout(local_size_x = 64) in;

const uint LANES = 64;       // channels per workgroup
const uint SET = 4;          // averages per invocation
const uint STEPS = 8;        // rows that an invocation loads together
const uint PIECE_ROWS = 64;  // minimum number of rows per chunk
const uint CHUNKS = 1024;    // maximum number of chunks per sequence

layout(push_constant) uniform Push {
    uint axis, capacity;         // axis and capacity of the sequences
    uint width, averages;        // channels, and averages of a direction
    uint parts;                  // capacity of chunks
    uint firstSet, sets;         // sets of a direction that the launch processes
    uint firstChannel, channels; // channels that the launch processes
    uint first, span;            // window of rows, for steps that process rows
} push;

#include "pooling.glsl"

// chunkRows returns the number of rows per chunk of a sequence.
uint chunkRows(uint length) { return divideUp(max(length, 1), CHUNKS * PIECE_ROWS) * PIECE_ROWS; }

// chunkRange returns the first row of a chunk and the row after its last row.
uvec2 chunkRange(uint part) {
    uint b = sequenceOf(part), base = offset[b], stop = offset[b + 1], rows = chunkRows(stop - base);
    uint begin = base + (part - firstPart(base, b)) * rows;
    return uvec2(begin, min(stop, begin + rows));
}

// outside reports whether the launch does not process a chunk: the chunk is empty, or it does not
// begin within the first span rows of the launch's window.
bool outside(uvec2 chunk) {
    return chunk.x >= chunk.y || chunk.x < push.first || chunk.x - push.first >= push.span;
}

uint states() { return 2 * push.sets * push.channels; } // number of vectors of states per part

// parameterIndex returns the index of average l of a set in the parameters, [2·averages, width].
// A set may contain fewer averages than SET: exists reports whether average l exists.
uint parameterIndex(uint set, uint l, uint channel) {
    uint direction = set / push.sets, average = (push.firstSet + set % push.sets) * SET + l;
    return (direction * push.averages + average) * push.width + channel;
}

bool exists(uint set, uint l) { return (push.firstSet + set % push.sets) * SET + l < push.averages; }

// PARAMETERS sets the vector `into` to the parameters x of a set, and to 0 for missing averages.
#define PARAMETERS(into, x, set, channel) \
    for (uint l = 0; l < SET; l++) into[l] = exists(set, l) ? x[parameterIndex(set, l, channel)] : 0;

// decays returns a = sigmoid(x) and rest = 1 − a. The error of the larger of the two must be at most
// its rounding error, because the error of an a near 1 accumulates over many rows.
void decays(vec4 x, out vec4 a, out vec4 rest) {
    for (uint l = 0; l < SET; l++) {
        float z = expBelow(-abs(x[l])), small = z / (1.0 + z), large = 1.0 - small;
        a[l] = IsNaN(x[l]) ? x[l] : choose(x[l], small, large);
        rest[l] = IsNaN(x[l]) ? x[l] : choose(x[l], large, small);
    }
}

// EACH_ROW runs `load` and then `compute` for STEPS rows at a time, so that a device waits for
// several loads together. Both read the index k < STEPS of the row and the index `at` of the row's
// word in tensors. The first of the n rows has the word `begin`, and the words of adjacent rows are
// `pitch` apart. If `ascending` is false, the loop runs from the last row to the first.
#define EACH_ROW(ascending, n, begin, pitch, load, compute) { \
    uint start = (ascending) ? begin : begin + ((n) - 1) * (pitch), stride = (ascending) ? (pitch) : 0 - (pitch); \
    for (uint row = 0; row < (n); row += STEPS) { \
        [[unroll]] for (uint k = 0; k < STEPS; k++) { \
            uint at = start + min(row + k, (n) - 1) * stride; \
            load; \
        } \
        [[unroll]] for (uint k = 0; k < STEPS; k++) { \
            if (row + k < (n)) { \
                uint at = start + (row + k) * stride; \
                compute; \
            } \
        } \
    } \
}

#endif
