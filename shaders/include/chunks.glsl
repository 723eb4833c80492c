// Chunks of a sequence's queries. The contributions of each chunk to the keys are summed
// separately.
#ifndef CHUNKS_GLSL
#define CHUNKS_GLSL

// chunkSize returns the number of queries per chunk. It depends only on the length, and so does the
// order of additions.
uint chunkSize(uint length) { return max(128, divideUp(divideUp(length, 32), 64) * 64); }

#endif
