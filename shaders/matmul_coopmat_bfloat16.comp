#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_bfloat16 : require
// matmul_coopmat.comp with bfloat16 operands. Bfloat16 has the range of float32, so gradients need
// no loss scaling.
#define HALF bfloat16_t
#define HALF2 bf16vec2

// representable rounds to nearest, ties to even, because conversions may truncate, which would bias
// gradients towards 0.
float representable(float x) {
    uint bits = floatBitsToUint(x);
    bits += 0x7fff + (bits >> 16 & 1);
    return isnan(x) ? x : uintBitsToFloat(bits & 0xffff0000u);
}

#include "include/matmul_coopmat.glsl"
