// The last stage of attention_backward_keys. Row y_j is the sum of the parts of all chunks of its
// sequence, in order. Unused rows are 0.
//
//   y [S, width], parts [chunks, S, width], count [B], firstTokens, firstRows [B+1]
//
// A workgroup processes one sampled row. Push: width, capacity of rows, first chunk and number of
// chunks in parts. If the first chunk is not 0, y holds the sums of the previous chunks.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "include/common.glsl"
#include "include/chunks.glsl"

layout(local_size_x = 64) in;
layout(push_constant) uniform Push { uint width, capacity, firstChunk, chunks; };

OPERAND(1, , float, y);
OPERAND(2, readonly, float, parts);
OPERAND(3, readonly, uint, count);
OPERAND(4, readonly, uint, firstTokens);
OPERAND(5, readonly, uint, firstRows);

#include "include/sequence.glsl"

void main() {
    uint j = group();
    if (j >= used(3, capacity)) return;
    uint b = sequenceOf(j);
    uint length = firstTokens[b + 1] - firstTokens[b];
    uint end = j < firstRows[b] + count[b] ? min(firstChunk + chunks, divideUp(length, chunkSize(length))) : 0;
    for (uint c = gl_LocalInvocationID.x; c < width; c += 64) {
        float sum = firstChunk > 0 ? y[j * width + c] : 0;
        for (uint part = firstChunk; part < end; part++) sum += parts[((part - firstChunk) * capacity + j) * width + c];
        y[j * width + c] = sum;
    }
}
