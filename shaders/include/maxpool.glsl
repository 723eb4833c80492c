// The maximum of a column and the lowest row with this value. The order of comparisons does not
// matter. Include this file after columns.glsl.
#ifndef MAXPOOL_GLSL
#define MAXPOOL_GLSL

const uint NOWHERE = ~0u; // row of an empty maximum

struct Largest {
    float value;
    uint row;
};

shared float laneValues[256];
shared uint laneRows[256];

// above reports whether a is above b. NaN is above all numbers.
bool above(float a, float b) { return a > b || isnan(a) && !isnan(b); }

Largest larger(Largest a, Largest b) {
    if (a.row == NOWHERE || b.row == NOWHERE) return a.row == NOWHERE ? b : a;
    if (above(a.value, b.value)) return a;
    return above(b.value, a.value) || b.row < a.row ? b : a;
}

// columnLargest returns the maximum over a column's lanes in each of these lanes. Every invocation
// of the workgroup must call it.
Largest columnLargest(Largest found) {
    laneValues[gl_LocalInvocationIndex] = found.value;
    laneRows[gl_LocalInvocationIndex] = found.row;
    barrier();
    for (uint i = 0; i < LANES; i++) {
        uint at = i * COLUMNS + column();
        found = larger(found, Largest(laneValues[at], laneRows[at]));
    }
    barrier(); // all invocations must have read the values before the next write
    return found;
}

#endif
