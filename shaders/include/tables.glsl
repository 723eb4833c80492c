// The tables of the relative encoding, [2h, width]: rows for each head's Rmul,
// then for each head's Radd. With n the longest sequence, a row's first 2n − 1
// entries are in use: f from the difference 1 − n, and g from the sum 0 on.
#ifndef TABLES_GLSL
#define TABLES_GLSL

layout(local_size_x = 256) in;

const uint ROWS = 8; // per workgroup: both tables of four heads
const uint FREQUENCIES = 32; // in shared memory at a time

// The chunk size of the adjoint's sums over n' = 2n − 1 values of t, for a maximum number of
// chunks: it depends on the longest sequence alone.
const uint TILE = 64;
uint chunkLength(uint n, uint chunks) { return TILE * max(4, divideUp(n, TILE * chunks)); }

#endif
