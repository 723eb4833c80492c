// The sequence of a packed row. Include this file after the declaration of firstRows[], the first
// token row or sampled row of each sequence.
#ifndef SEQUENCE_GLSL
#define SEQUENCE_GLSL

uint sequences() { return counts[2]; }

// sequenceOf returns the sequence of a row in use.
uint sequenceOf(uint row) {
    uint b = 0;
    for (uint end = sequences(); end - b > 1;) {
        uint middle = (b + end) / 2;
        if (firstRows[middle] <= row) b = middle;
        else end = middle;
    }
    return b;
}

#endif
