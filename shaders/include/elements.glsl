// Elementwise kernels. A workgroup processes ELEMENTS consecutive elements. Adjacent invocations
// process adjacent words.
#ifndef ELEMENTS_GLSL
#define ELEMENTS_GLSL
#include "extent.glsl"

layout(local_size_x = 256) in;

const uint ELEMENTS = 1024;

uint firstElement() { return group() * ELEMENTS + gl_LocalInvocationIndex; }
uint endElement(uint n) { return min(n, (group() + 1) * ELEMENTS); }

// EACH is the loop over an invocation's elements i < n.
#define EACH(i, n) for (uint i = firstElement(), last = endElement(n); i < last; i += 256)

// EACH_ELEMENT is the loop of a kernel whose push constants are an extent.
#define EACH_ELEMENT(i) EACH(i, usedRows(push.axis, push.capacity, push.first, push.rows) * push.width)

#endif
