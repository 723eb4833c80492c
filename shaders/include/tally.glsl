// The histograms of attention_backward_queries.comp: sums for each i − j and i + j, which are
// accumulated in shared memory and then added to the tables in memory. A shader must first declare
// TABLE, histogram, top, partner, firstHead and the bits of fixed.glsl.
//
// A window holds the entries of four rows (f of mul and of add, then g of both) for the queries of
// the workgroup and some keys. Keys are in groups of eight. A window covers the groups that fit,
// and is flushed before it moves to the next groups. The sums of a group that does not fit alone
// are added directly to the tables. Without a window, this applies to all groups.
//
// A cell is one integer in the units of fixed.glsl. The sum is exact for any values in any order,
// although cells wrap modulo 2³². The invocation whose value makes a cell wrap detects the overflow
// from the result of the atomic, and adds ±2³² to the high part of the table's entry. Cells and
// tables together therefore always hold the true sum S. In the end, there is at most one low part
// per value, each at most 2^(BITS−1), so the low parts are below 2³⁰ in total. As high·2^BITS is S
// minus the low parts, high is below 2³¹. Intermediate overflows of high are harmless.
#ifndef TALLY_GLSL
#define TALLY_GLSL

layout(constant_id = 10) const uint WINDOW = 0; // entries per row; 0 means no window
const bool WINDOWED = WINDOW > 0;
const uint CELLS = WINDOWED ? 4 * WINDOW : 1;
const uint GROUP = 8; // keys per group

const uint MUL = 0, ADD = 1;

shared int cells[CELLS];
shared uint lowest[8], highest[8]; // lowest and highest token of each group of keys in a tile

uint place; // index of the invocation's query in the workgroup
uint low, high; // lowest and highest token of the window's keys
bool fits = false; // true if the current keys have a window

void clearWindow() {
    for (uint c = gl_LocalInvocationIndex; c < CELLS; c += ROWS * SLICES) cells[c] = 0;
}

// findRanges finds the lowest and the highest token of each group, for n keys from row `from` on.
void findRanges(uint from, uint n) {
    uint at = gl_LocalInvocationIndex;
    if (at >= 8) return;
    uint least = ~0u, most = 0;
    for (uint l = GROUP * at; l < min(GROUP * (at + 1), n); l++) {
        uint x = top[from + l], y = partner[from + l] < 0 ? x : uint(partner[from + l]);
        least = min(least, min(x, y));
        most = max(most, max(x, y));
    }
    lowest[at] = least;
    highest[at] = most;
}

// moveWindow moves the window to the keys from `begin` on, out of n keys, and returns the end of
// its keys. If they do not fit into a window, it returns the end of the keys to be added directly
// to the tables.
uint moveWindow(uint begin, uint n) {
    if (!WINDOWED) return n;
    low = lowest[begin / GROUP];
    high = highest[begin / GROUP];
    fits = high - low + ROWS <= WINDOW;
    uint end = begin + GROUP;
    while (fits && end < n) {
        uint least = min(low, lowest[end / GROUP]), most = max(high, highest[end / GROUP]);
        if (most - least + ROWS > WINDOW) break;
        low = least;
        high = most;
        end += GROUP;
    }
    return min(end, n);
}

// flushWindow adds the window to the tables and clears the window. The argument first is the
// workgroup's first query.
void flushWindow(uint head, uint first) {
    if (!WINDOWED || !fits) return;
    barrier();
    for (uint row = 0; row < 4; row++) {
        uint at = ((head - firstHead) * 2 + row % 2) * 4 * TABLE;
        at += row < 2 ? first + longest() - 1 - high : 2 * TABLE + first + low;
        for (uint c = gl_LocalInvocationIndex; c < high - low + ROWS; c += ROWS * SLICES) {
            int v = cells[row * WINDOW + c];
            if (v == 0) continue;
            cells[row * WINDOW + c] = 0;
            ivec2 parts = fixedSplit(v, bits);
            atomicAdd(histogram[at + c], parts.x);
            atomicAdd(histogram[at + TABLE + c], parts.y);
        }
    }
    barrier();
}

// put adds units to a cell, and an overflow to the high part of the table's entry.
void put(uint cell, int v, uint entry) {
    int before = atomicAdd(cells[cell], v), after = before + v;
    if (((before ^ after) & (v ^ after)) < 0) atomicAdd(histogram[entry], v < 0 ? -(1 << (32 - bits)) : 1 << (32 - bits));
}

// tally adds a pair's contribution to a head's rows of both tables.
void tally(uint head, uint row, uint i, uint j, float value, float unit) {
    uint at = ((head - firstHead) * 2 + row) * 4 * TABLE, x = at + i + longest() - 1 - j, y = at + 2 * TABLE + i + j;
    if (WINDOWED && fits && abs(value * unit) < 2147483648.0) {
        int v = fixedWord(value, unit);
        put(row * WINDOW + place + (high - j), v, x);
        put((2 + row) * WINDOW + place + (j - low), v, y);
        return;
    }
    ivec2 parts = fixedParts(value, unit, bits);
    atomicAdd(histogram[x], parts.x);
    atomicAdd(histogram[x + TABLE], parts.y);
    atomicAdd(histogram[y], parts.x);
    atomicAdd(histogram[y + TABLE], parts.y);
}

#endif
