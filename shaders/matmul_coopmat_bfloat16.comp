#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_bfloat16 : require
// matmul_coopmat.comp with bfloat16 operands, which keep float32's range: their
// gradients need no scaled loss.
#define HALF bfloat16_t
#define HALF2 bf16vec2
#include "include/matmul_coopmat.glsl"
