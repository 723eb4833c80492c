// Tiles of rows. A tile never spans two sequences. Tile t belongs to the last sequence b with
// offsets[b]/size + b ≤ t. This layout has enough tiles for each sequence, without a prefix sum.
// The argument `offsets` of TILE_OF is firstTokens or firstRows, [B+1].
#ifndef TILES_GLSL
#define TILES_GLSL

// Tile is the location of a tile: the rows [from, to) of sequence b, whose first row is `first`.
// Beyond the end of the sequence, the tile is empty.
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

// outside reports whether work that begins at a row belongs to another launch. This launch
// processes the work that begins among the span rows from `first` on.
bool outside(uint begin, uint first, uint span) { return begin < first || begin - first >= span; }

#endif
