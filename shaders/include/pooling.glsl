// A sequence is pooled in pieces. The sums of each piece are a row of the partial sums. The partial
// sums of sequence b begin at firstPart(first row of b, b). This layout has enough rows for the
// pieces of every sequence, without a table of the numbers of pieces. Include this file after the
// declarations of offset[], the first row of each sequence, and of the push constants with the axis
// and the capacity of the sequences.
#ifndef POOLING_GLSL
#define POOLING_GLSL

uint firstPart(uint row, uint b) { return row / PIECE_ROWS + b; }

// sequenceOf returns the last sequence whose parts begin at or before p.
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
