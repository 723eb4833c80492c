// Kernels that sum over rows, column by column. A workgroup of 256 invocations processes a chunk of
// the rows ("piece" in the code) for COLUMNS columns. Invocation l of a column processes the rows l,
// l + LANES, … of the chunk. The chunks, and so the order of additions, depend only on the number of
// rows summed. There are at most PIECES chunks; they are shorter than the chunks of rowchunks.glsl,
// because there is little work per word. The function pieces in vk/columns.go bounds their number.
#ifndef COLUMNS_GLSL
#define COLUMNS_GLSL
#include "extent.glsl"

layout(local_size_x = 256) in;

const uint PIECES = 128;
const uint PIECE_ROWS = 32; // minimum number of rows per piece
const uint COLUMNS = 64;
const uint LANES = 4;
const uint STRETCH = 32 * LANES; // number of rows whose sum is added to the total

shared float laneSums[256];

uint pieceRows(uint rows) { return max(PIECE_ROWS, divideUp(rows, PIECES)); }

// pieceRange returns the rows of a chunk within a block, from the first row to the row after the
// last, relative to the block. The chunk has the given length, and n rows are in use in total. A
// chunk may span several blocks, which add to its sum in order.
uvec2 pieceRange(uint piece, uint length, uint n, uint first, uint rows) {
    uint begin = max(piece * length, first);
    uint end = max(begin, min(min(n, (piece + 1) * length), first + rows));
    return uvec2(begin, end) - first;
}

uint lane() { return gl_LocalInvocationIndex / COLUMNS; }
uint column() { return gl_LocalInvocationIndex % COLUMNS; } // index of the column in the workgroup

// columnAdd returns the sum over a column's lanes in each of these lanes. Every invocation of the
// workgroup must call it.
float columnAdd(float v) {
    laneSums[gl_LocalInvocationIndex] = v;
    barrier();
    v = laneSums[column()];
    for (uint i = 1; i < LANES; i++) v += laneSums[i * COLUMNS + column()];
    barrier(); // all invocations must have read the sums before the next write
    return v;
}

#endif
