#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
// C[m,n] = Σ_k A[m,k]·B[k,n] with float16 operands and float32 sums: the products
// of matmul.comp, same operands, push constants and ends, on cooperative matrices.
// include/matmul_coopmat.glsl says how.
#define HALF float16_t
#define HALF2 f16vec2

layout(constant_id = 14) const bool SATURATE = false; // operands beyond float16's range become its maximum

// representable leaves the rounding to the conversion. Infinities and NaN are unchanged.
float representable(float x) {
    const float largest = 65504;
    return SATURATE && abs(x) > largest && !isinf(x) ? sign(x) * largest : x;
}

#include "include/matmul_coopmat.glsl"
