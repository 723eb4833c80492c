// Sums over the taps of a convolution. An invocation processes one channel of ROWS adjacent rows,
// so that it reads a weight once for these rows. Adjacent invocations process adjacent channels. A
// sum is one chain of additions, tap by tap. If the rows that all taps read do not fit into a
// binding, several launches process some of the taps each. See vk/convolution.go.
#ifndef CONVOLUTION_GLSL
#define CONVOLUTION_GLSL
#include "extent.glsl"

layout(local_size_x = 256) in;

const uint ROWS = 4;

// TAPS declares the push constants: the extent of the output rows, and the range [from, to) of the
// taps that the launch processes. Tap `centre` reads the row of x with the output's index,
// and `window` is the first bound row of x.
#define TAPS EXTENT, dilation, centre, from, to, window

OPERAND(1, , float, sums);          // [rows, width]
OPERAND(2, readonly, float, x);     // [rows of the window, width]
OPERAND(3, readonly, float, weight); // [taps, width]
OPERAND(4, readonly, uint, sequence); // sequence of each output row
OPERAND(5, readonly, uint, firstRows); // [B+1]

// EACH_SUM computes a sum for each row, starting from `begin`, and then runs `end` with the output's
// word `at` and the sum `total`. The direction of the taps is 1, or −1 for the adjoint.
#define EACH_SUM(direction, begin, end) { \
    uint n = usedRows(push.axis, push.capacity, push.first, push.rows); \
    uint index = group() * 256 + gl_LocalInvocationIndex, row = index / push.width * ROWS, c = index % push.width; \
    if (row >= n) return; \
    float sum[ROWS]; \
    ivec2 bounds[ROWS]; /* rows of the same sequence */ \
    for (uint k = 0; k < ROWS; k++) { \
        uint i = min(row + k, n - 1), b = sequence[i], at = i * push.width + c; \
        bounds[k] = ivec2(firstRows[b], firstRows[b + 1]); \
        sum[k] = begin; \
    } \
    for (uint t = push.from; t < push.to; t++) { \
        float w = weight[t * push.width + c]; \
        int shift = (direction) * (int(t) - int(push.centre)) * int(push.dilation); \
        for (uint k = 0; k < ROWS; k++) { \
            int j = int(push.first + min(row + k, n - 1)) + shift; \
            if (j < bounds[k].x || j >= bounds[k].y) continue; \
            precise float product = w * x[(uint(j) - push.window) * push.width + c]; \
            precise float next = sum[k] + product; \
            sum[k] = next; \
        } \
    } \
    for (uint k = 0; k < min(ROWS, n - row); k++) { \
        uint at = (row + k) * push.width + c; \
        float total = sum[k]; \
        end; \
    } \
}

#endif
