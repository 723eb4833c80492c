// Operands that may share memory. A kernel that works in place has two bindings of the same range.
// SPIR-V assumes that different bindings have different memory unless they are decorated as Aliased
// (20). GLSL has no keyword for this decoration.
#ifndef ALIASED_GLSL
#define ALIASED_GLSL
#extension GL_EXT_spirv_intrinsics : require

// ALIASED declares binding n, like OPERAND. An invocation must read a word before it overwrites the
// word.
#define ALIASED(n, access, type, name) \
    spirv_decorate(20) layout(set = 0, binding = n, std430) access buffer Operand##n { type name[]; }

#endif
