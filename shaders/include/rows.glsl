// Kernels that sum over each row. A workgroup of 256 invocations processes ROWS rows. Of the LANES
// adjacent invocations of a row, number l processes the elements l, l + LANES, … The order of additions in a row
// depends only on the width, not on the row's position.
#ifndef ROWS_GLSL
#define ROWS_GLSL
#include "extent.glsl"

layout(constant_id = 0) const uint LANES = 32; // invocations per row, a power of two
const uint ROWS = 256 / LANES;
layout(local_size_x = 256) in;

shared float laneParts[256];

uint lane() { return gl_LocalInvocationIndex % LANES; }
uint firstRow() { return group() * ROWS; } // first row of the workgroup
uint row() { return firstRow() + gl_LocalInvocationIndex / LANES; }

// rowAdd returns the sum over a row's lanes in each of these lanes. Every invocation of the
// workgroup must call it.
float rowAdd(float v) {
    uint at = gl_LocalInvocationIndex;
    laneParts[at] = v;
    barrier();
    for (uint stride = LANES / 2; stride > 0; stride /= 2) {
        if (lane() < stride) laneParts[at] += laneParts[at + stride];
        barrier();
    }
    v = laneParts[at - lane()];
    barrier(); // all invocations must have read the parts before the next write
    return v;
}

// rowMax returns the maximum over a row's lanes in each of these lanes. Every invocation of the
// workgroup must call it.
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
