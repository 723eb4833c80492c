// The beginning of every kernel. A kernel runs on a one-dimensional grid of workgroups: see
// group(). Binding 0 always has the counts of the batch; the kernel's operands follow from binding
// 1 on, in the order of its Go launch.
#ifndef COMMON_GLSL
#define COMMON_GLSL

layout(set = 0, binding = 0, std430) readonly restrict buffer Counts { uint counts[]; };

// OPERAND declares binding n as an array of words of the given type:
//   OPERAND(1, readonly, float, x)
#define OPERAND(n, access, type, name) \
    layout(set = 0, binding = n, std430) access restrict buffer Operand##n { type name[]; }

// group is the index of this workgroup. The grid may have a few more groups than requested, because
// a long one is folded into two dimensions: a kernel must end groups whose index is out of range.
uint group() { return gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x; }

// used is the number of rows in use of a tensor: an axis other than 0 reads it from the counts of
// the batch, axis 0 uses all rows.
uint used(uint axis, uint capacity) { return axis == 0 ? capacity : counts[axis]; }

// The longest sequence of the batch.
uint longest() { return counts[7]; }

uint divideUp(uint a, uint b) { return (a + b - 1) / b; }

#endif
