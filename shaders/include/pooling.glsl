// A sequence is pooled in pieces, whose sums lie in a row of partial sums each.
// The rows of sequence b begin at firstPart(its first row, b): enough room for
// all of its pieces, without a table of how many there are. Include it where
// offset[] is declared, the first row of each sequence, and the push constants
// are, with the axis and the capacity of the sequences.
#ifndef POOLING_GLSL
#define POOLING_GLSL

uint firstPart(uint row, uint b) { return row / PIECE_ROWS + b; }

// sequenceOf is the last sequence whose parts begin at p or before.
uint sequenceOf(uint p) {
    uint lo = 0, hi = used(push.axis, push.capacity);
    while (hi - lo > 1) {
        uint middle = (lo + hi) / 2;
        if (firstPart(offset[middle], middle) <= p) lo = middle;
        else hi = middle;
    }
    return lo;
}

#endif
