// Kernels that sum over each row. A workgroup of 256 processes ROWS rows, each with LANES adjacent
// invocations that take its elements in turn. A row's order of additions depends on its width
// alone, not on its position.
#ifndef ROWS_GLSL
#define ROWS_GLSL
#include "extent.glsl"

layout(constant_id = 0) const uint LANES = 32; // a power of two
const uint ROWS = 256 / LANES;
layout(local_size_x = 256) in;

shared float laneParts[256];

uint lane() { return gl_LocalInvocationIndex % LANES; }
uint firstRow() { return group() * ROWS; } // of the workgroup
uint row() { return firstRow() + gl_LocalInvocationIndex / LANES; }

// rowAdd returns the sum over a row's lanes to all of them. Every invocation of the workgroup must
// call it.
float rowAdd(float v) {
    uint at = gl_LocalInvocationIndex;
    laneParts[at] = v;
    barrier();
    for (uint stride = LANES / 2; stride > 0; stride /= 2) {
        if (lane() < stride) laneParts[at] += laneParts[at + stride];
        barrier();
    }
    v = laneParts[at - lane()];
    barrier(); // before the parts are written again
    return v;
}

// rowMax returns the maximum in the same way.
float rowMax(float v) {
    uint at = gl_LocalInvocationIndex;
    laneParts[at] = v;
    barrier();
    for (uint stride = LANES / 2; stride > 0; stride /= 2) {
        if (lane() < stride) laneParts[at] = max(laneParts[at], laneParts[at + stride]);
        barrier();
    }
    v = laneParts[at - lane()];
    barrier();
    return v;
}

#endif
