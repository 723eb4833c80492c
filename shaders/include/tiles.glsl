// Tiles of rows that never cross a sequence. Tile t belongs to sequence b if first[b]/size + b ≤ t:
// these starts leave each sequence room for its tiles without a prefix sum. A shader must first
// declare firstTokens and firstRows, [B+1].
#ifndef TILES_GLSL
#define TILES_GLSL

// Tile is the location of a tile: rows from … to−1 of sequence b, whose first row is given. It is
// empty beyond the sequence's end.
struct Tile { uint b, first, from, to; };

#define TILE_OF(offsets, t, size, result) { \
    uint lo = 0, hi = counts[2]; \
    while (hi - lo > 1) { \
        uint mid = (lo + hi) / 2; \
        if (offsets[mid] / size + mid <= t) lo = mid; else hi = mid; \
    } \
    uint from = offsets[lo] + (t - offsets[lo] / size - lo) * size; \
    result = Tile(lo, offsets[lo], from, min(from + size, offsets[lo + 1])); \
}

// outside reports whether work that begins at a row belongs to another launch than the one for the
// span rows from `first` on.
bool outside(uint begin, uint first, uint span) { return begin < first || begin - first >= span; }

#endif
