// A sequence is pooled in pieces, whose sums lie in a row of partial sums each.
// The rows of sequence b begin at firstPart(its first token, b): enough room for
// all of its pieces, without a table of how many there are.
#ifndef POOLING_GLSL
#define POOLING_GLSL

uint firstPart(uint token, uint b) { return token / PIECE_ROWS + b; }

#endif
