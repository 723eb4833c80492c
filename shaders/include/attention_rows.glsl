// Macros that load rows of a head as vectors, and a macro that adds and stores the sums of slices.
#ifndef ATTENTION_ROWS_GLSL
#define ATTENTION_ROWS_GLSL

// LOAD_TILE loads the head's channels of n packed rows of x and y, from row `from` on, into the two
// halves of the tile.
#define LOAD_TILE(x, y, from, n, head) \
    for (uint at = gl_LocalInvocationIndex; at < (n) * VECTORS; at += ROWS * SLICES) { \
        uint c = at % VECTORS * 4, word = ((from) + at / VECTORS) * d + (head) * CHANNELS + c; \
        vec4 a = vec4(0), b = vec4(0); \
        for (uint l = 0; l < 4; l++) { \
            if (c + l < CHANNELS) { \
                a[l] = x[word + l]; \
                b[l] = y[word + l]; \
            } \
        } \
        tile[at] = a; \
        tile[TILE * VECTORS + at] = b; \
    }

// LOAD_ROW loads the head's channels of row `row` of x into the vectors of `into`, or into operand `at`
// in ownRows if this operand is staged. A barrier must follow.
#define LOAD_ROW(into, at, x, row, head) \
    if ((at) < STAGED) { \
        for (uint c = slice; c < VECTORS; c += SLICES) { \
            vec4 a; \
            for (uint l = 0; l < 4; l++) a[l] = c * 4 + l < CHANNELS ? x[(row) * d + (head) * CHANNELS + c * 4 + l] : 0; \
            ownRows[((at) * VECTORS + c) * ROWS + slot] = a; \
        } \
    } else { \
        for (uint c = 0; c < VECTORS; c++) \
            for (uint l = 0; l < 4; l++) \
                into[c][l] = c * 4 + l < CHANNELS ? x[(row) * d + (head) * CHANNELS + c * 4 + l] : 0; \
    }

// SUM_SLICES adds the vectors of the slices in order. It writes the sums to n rows of y from row
// `first` on, as the head's channels from `channel` on.
#define SUM_SLICES(values, vectors, channel, y, first, n, head) \
    for (uint piece = 0; piece < vectors; piece += PIECE) { \
        for (uint s = 1; s < SLICES; s++) { \
            barrier(); \
            for (uint c = 0; c < vectors; c++) \
                if (slice == s && c >= piece && c < piece + PIECE) tile[(c - piece) * ROWS + slot] = values[c]; \
            barrier(); \
            for (uint c = 0; c < vectors; c++) \
                if (slice == 0 && c >= piece && c < piece + PIECE) values[c] += tile[(c - piece) * ROWS + slot]; \
        } \
        barrier(); \
        for (uint c = 0; c < vectors; c++) \
            if (slice == 0 && c >= piece && c < piece + PIECE) tile[(c - piece) * ROWS + slot] = values[c]; \
        barrier(); \
        uint begin = (channel) + piece * 4, wide = min(min(PIECE, vectors - piece) * 4, CHANNELS - begin); \
        for (uint word = gl_LocalInvocationIndex; word < (n) * wide; word += ROWS * SLICES) { \
            uint r = word / wide, c = word % wide; \
            y[((first) + r) * d + (head) * CHANNELS + begin + c] = tile[c / 4 * ROWS + r][c % 4]; \
        } \
    }

#endif
