// Operands that may be one memory: a kernel that works in place is bound the
// same range twice. SPIR-V takes different bindings for different memory
// unless they are decorated as Aliased (20), which GLSL has no word for.
#ifndef ALIASED_GLSL
#define ALIASED_GLSL
#extension GL_EXT_spirv_intrinsics : require

// ALIASED declares binding n, as OPERAND does. An invocation reads what it
// replaces before it writes.
#define ALIASED(n, access, type, name) \
    spirv_decorate(20) layout(set = 0, binding = n, std430) access buffer Operand##n { type name[]; }

#endif
