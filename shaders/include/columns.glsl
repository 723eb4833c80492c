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
const uint PIECE_ROWS = 32; // at least
const uint COLUMNS = 64;
const uint LANES = 4;
const uint STRETCH = 32 * LANES; // rows summed before they are added to the rest

shared float laneSums[256];

uint pieceRows(uint rows) { return max(PIECE_ROWS, divideUp(rows, PIECES)); }

// pieceRange is what of a piece of that length lies in a block: its first row and the
// one behind its last, counted from the block's, with n rows in use of the whole.
// A piece may lie in several blocks, which add to its sum one after the other.
uvec2 pieceRange(uint piece, uint length, uint n, uint first, uint rows) {
    uint begin = max(piece * length, first);
    uint end = max(begin, min(min(n, (piece + 1) * length), first + rows));
    return uvec2(begin, end) - first;
}

uint lane() { return gl_LocalInvocationIndex / COLUMNS; }
uint column() { return gl_LocalInvocationIndex % COLUMNS; } // among the workgroup's

// columnAdd is the sum over a column's lanes, for all of them. Every invocation
// of the workgroup calls it.
float columnAdd(float v) {
    laneSums[gl_LocalInvocationIndex] = v;
    barrier();
    v = laneSums[column()];
    for (uint i = 1; i < LANES; i++) v += laneSums[i * COLUMNS + column()];
    barrier(); // the sums may be written again
    return v;
}

#endif
