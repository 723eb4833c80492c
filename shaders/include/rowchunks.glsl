// Sums over the rows of a batch (gradients of parameters) are split into chunks of rows, which are
// summed concurrently and then added in order. The chunks depend only on the number of rows in use,
// so the result depends neither on the capacity nor on the distribution of work. The function chunks
// in vk/matmul.go bounds their number.
#ifndef ROWCHUNKS_GLSL
#define ROWCHUNKS_GLSL

// chunkRows returns a multiple of 16 such that at most 64 chunks cover all rows.
uint chunkRows(uint rows) { return (max(256, divideUp(rows, 64)) + 15) & ~15u; }

#endif
