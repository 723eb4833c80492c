#version 450
#extension GL_GOOGLE_include_directive : require
// sums[p, c] = Σ_i x[i, c] over chunk p of the rows: the gradient of a bias. Another launch adds
// the sums of the chunks in order.
//   x [rows, width], sums [parts, width]
//
// One workgroup sums 32 columns of one chunk with eight invocations per column. Each invocation
// adds every eighth row; then the eight sums are added in order.
//
// A launch binds the rows of x from `first` on, and processes the chunks that begin among the first
// `span` rows.
//
//   push: axis, capacity, width, parts, first, span
#include "include/common.glsl"
#include "include/rowchunks.glsl"

layout(local_size_x = 256) in;

layout(push_constant) uniform Push { uint axis, capacity, width, parts, first, span; } push;

OPERAND(1, readonly, float, x);
OPERAND(2, writeonly, float, sums);

const uint COLUMNS = 32, LANES = 8;

shared float lanes[LANES * COLUMNS];

void main() {
    uint across = divideUp(push.width, COLUMNS), part = group() / across;
    if (part >= push.parts) return;
    uint t = gl_LocalInvocationIndex, column = group() % across * COLUMNS + t % COLUMNS;
    uint rows = used(push.axis, push.capacity), chunk = chunkRows(rows);
    uint begin = part * chunk, end = min(rows, begin + chunk);
    if (begin < push.first || begin - push.first >= push.span) return;
    float sum = 0;
    if (column < push.width) {
        for (uint i = begin + t / COLUMNS; i < end; i += LANES) sum += x[(i - push.first) * push.width + column];
    }
    lanes[t] = sum;
    barrier();
    if (t >= COLUMNS || column >= push.width) return;
    for (uint i = 1; i < LANES; i++) sum += lanes[i * COLUMNS + t];
    sums[part * push.width + column] = sum;
}
