// A sequence is pooled in chunks of rows. The sums of each chunk are a row of the partial sums. The
// partial sums of sequence b begin at row firstPart(first row of b, b). This layout has enough rows
// for the chunks of every sequence, without a table of the numbers of chunks. Include this file after
// the declarations of PIECE_ROWS (the minimum number of rows per chunk), offset[] (the first row of
// each sequence), and the push constants with the axis and the capacity of the sequences.
#ifndef POOLING_GLSL
#define POOLING_GLSL

uint firstPart(uint row, uint b) { return row / PIECE_ROWS + b; }

// sequenceOf returns the last sequence whose partial sums begin at or before row p.
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
