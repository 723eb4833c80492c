// Chunks of a sequence's queries, whose contributions to keys are summed separately.
#ifndef CHUNKS_GLSL
#define CHUNKS_GLSL

// chunkSize is the number of queries per chunk. It depends on the length alone, and so does the
// order of additions.
uint chunkSize(uint length) { return max(128, divideUp(divideUp(length, 32), 64) * 64); }

#endif
