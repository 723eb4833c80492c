// The tables of the relative encoding, [2h, width]: a row for each head's Rmul, then a row for each
// head's Radd. With the length n of the longest sequence, the first 2n − 1 entries of a row are in
// use. They begin with the difference 1 − n in f, and with the sum 0 in g.
#ifndef TABLES_GLSL
#define TABLES_GLSL

layout(local_size_x = 256) in;

const uint ROWS = 8; // rows per workgroup
const uint FREQUENCIES = 32; // frequencies in shared memory at a time

const uint TILE = 64;

// chunkLength returns the length of the chunks in which the adjoint sums over n values of t, for a
// maximum number of chunks. It depends only on the longest sequence.
uint chunkLength(uint n, uint chunks) { return TILE * max(4, divideUp(n, TILE * chunks)); }

#endif
