// Package fmath holds the elementary functions of the model in float32.
//
// They are our own polynomials, not package math's and not a shader's
// built-ins, so that every device computes the same ones: the SIMD kernels and
// the shaders are ports of this package. Therefore only float32 additions,
// multiplications, divisions and operations on the bits are used, selections
// instead of branches wherever both sides are cheap, and every product that
// meets an addition is wrapped in float32(…), which forbids the compiler to
// fuse the two: the results are the same bits on every platform.
//
// The coefficients are minimax fits (Remez, 160 bits), rounded to float32; the
// errors given at each function are measured by this package's tests, which
// assert them against package math over the whole range of float32.
//
// Numbers below 2⁻¹²⁶ (subnormals) may be flushed to zero where a function says so,
// as many devices do with all of them.
package fmath
