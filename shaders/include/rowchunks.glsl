// Sums over the rows of a batch (gradients of parameters) are split into chunks of rows, which are
// summed concurrently and then added in order. The chunks depend on the rows in use alone, so that
// neither the capacity nor the distribution of work changes a bit. vk/matmul.go has the bound of
// their number.
#ifndef ROWCHUNKS_GLSL
#define ROWCHUNKS_GLSL

// chunkRows returns a multiple of 16 such that at most 64 chunks cover all rows.
uint chunkRows(uint rows) { return (max(256, divideUp(rows, 64)) + 15) & ~15u; }

#endif
