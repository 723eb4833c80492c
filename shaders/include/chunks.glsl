// Chunks of a sequence's queries, whose contributions to keys are summed apart.
#ifndef CHUNKS_GLSL
#define CHUNKS_GLSL

// chunkSize is the queries of a chunk: by the length alone, so that the order of
// additions is, too.
uint chunkSize(uint length) { return max(128, divideUp(divideUp(length, 32), 64) * 64); }

#endif
