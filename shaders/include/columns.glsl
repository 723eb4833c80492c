// Kernels that sum over rows, column by column. A workgroup of 256 does a piece
// of the rows of COLUMNS columns; the LANES invocations of a column take the
// rows in turn. The pieces follow from the number of rows summed alone, so that
// the order of additions does, and there are at most PIECES of them: more and
// shorter ones than of a product, because there is little to do for a word.
// vk/columns.go holds the bound of their number.
#ifndef COLUMNS_GLSL
#define COLUMNS_GLSL
#include "extent.glsl"

layout(local_size_x = 256) in;

const uint PIECES = 128;
const uint PIECE_ROWS = 32; // minimum
const uint COLUMNS = 64;
const uint LANES = 4;
const uint STRETCH = 32 * LANES; // rows summed before they are added to the total

shared float laneSums[256];

uint pieceRows(uint rows) { return max(PIECE_ROWS, divideUp(rows, PIECES)); }

// pieceRange returns the part of a piece of the given length within a block: its first row and the
// row after its last, relative to the block, with n rows in use in total. A piece may span several
// blocks, which add to its sum one after the other.
uvec2 pieceRange(uint piece, uint length, uint n, uint first, uint rows) {
    uint begin = max(piece * length, first);
    uint end = max(begin, min(min(n, (piece + 1) * length), first + rows));
    return uvec2(begin, end) - first;
}

uint lane() { return gl_LocalInvocationIndex / COLUMNS; }
uint column() { return gl_LocalInvocationIndex % COLUMNS; } // within the workgroup

// columnAdd returns the sum over a column's lanes to all of them. Every invocation of the workgroup
// must call it.
float columnAdd(float v) {
    laneSums[gl_LocalInvocationIndex] = v;
    barrier();
    v = laneSums[column()];
    for (uint i = 1; i < LANES; i++) v += laneSums[i * COLUMNS + column()];
    barrier(); // before the sums are written again
    return v;
}

#endif
