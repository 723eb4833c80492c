// The common declarations of all kernels. A kernel runs on a one-dimensional grid of workgroups:
// see group(). Binding 0 has the counts of the batch. The kernel's operands have the bindings from
// 1 on, in the order in which the Go code passes them.
#ifndef COMMON_GLSL
#define COMMON_GLSL

layout(set = 0, binding = 0, std430) readonly restrict buffer Counts { uint counts[]; };

// OPERAND declares binding n as an array of words of the given type:
//   OPERAND(1, readonly, float, x)
#define OPERAND(n, access, type, name) \
    layout(set = 0, binding = n, std430) access restrict buffer Operand##n { type name[]; }

// group returns the index of this workgroup. A kernel must return from groups whose index is out of
// range: a long grid is folded into two dimensions and may have a few more groups than requested.
uint group() { return gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x; }

// used returns the number of rows in use of a tensor: all rows for axis 0, and otherwise the count of
// the axis in the batch.
uint used(uint axis, uint capacity) { return axis == 0 ? capacity : counts[axis]; }

// longest returns the length of the longest sequence in the batch.
uint longest() { return counts[7]; }

uint divideUp(uint a, uint b) { return (a + b - 1) / b; }

#endif
