// Sums over the rows of a batch (gradients of parameters) are cut into chunks of
// rows, summed side by side, and the chunks' sums are then added in order. The
// chunks follow from the rows in use alone, so that neither what fits nor how
// the work is spread changes a bit. vk/matmul.go holds the bound of their number.
#ifndef ROWCHUNKS_GLSL
#define ROWCHUNKS_GLSL

// chunkRows is a multiple of 16, such that at most 64 chunks hold all rows.
uint chunkRows(uint rows) { return (max(256, divideUp(rows, 64)) + 15) & ~15u; }

#endif
