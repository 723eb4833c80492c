#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
// C[m,n] = Σ_k A[m,k]·B[k,n] with float16 operands and float32 sums, computed with cooperative
// matrices: see include/matmul_coopmat.glsl. The operands, push constants and epilogues are the same
// as in matmul.comp.
#define HALF float16_t
#define HALF2 f16vec2

layout(constant_id = 14) const bool SATURATE = false; // true if operands beyond the range of float16 become its maximum

// representable limits finite numbers if SATURATE is set. The conversion to float16 rounds.
float representable(float x) {
    const float largest = 65504;
    return SATURATE && abs(x) > largest && !isinf(x) ? sign(x) * largest : x;
}

#include "include/matmul_coopmat.glsl"
