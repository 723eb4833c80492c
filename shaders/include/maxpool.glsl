// The maximum of a column and the lowest row that has it. The order of comparisons does not matter.
// Include this file after columns.glsl.
#ifndef MAXPOOL_GLSL
#define MAXPOOL_GLSL

const uint NOWHERE = ~0u; // the row without a value

struct Largest {
    float value;
    uint row;
};

shared float laneValues[256];
shared uint laneRows[256];

// above compares values; NaN is above all numbers.
bool above(float a, float b) { return a > b || isnan(a) && !isnan(b); }

Largest larger(Largest a, Largest b) {
    if (a.row == NOWHERE || b.row == NOWHERE) return a.row == NOWHERE ? b : a;
    if (above(a.value, b.value)) return a;
    return above(b.value, a.value) || b.row < a.row ? b : a;
}

// columnLargest returns the maximum of a column's lanes to all of them. Every invocation of the
// workgroup must call it.
Largest columnLargest(Largest found) {
    laneValues[gl_LocalInvocationIndex] = found.value;
    laneRows[gl_LocalInvocationIndex] = found.row;
    barrier();
    for (uint i = 0; i < LANES; i++) {
        uint at = i * COLUMNS + column();
        found = larger(found, Largest(laneValues[at], laneRows[at]));
    }
    barrier(); // before they are written again
    return found;
}

#endif
