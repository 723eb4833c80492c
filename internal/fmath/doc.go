// Package fmath implements the elementary functions of the model in float32.
//
// They are polynomials instead of functions of package math or built-ins of a shader, so that every
// device evaluates the same formulas: the SIMD kernels and the shaders are ports of this package. It
// therefore uses only float32 additions, multiplications, divisions and bit operations, with
// selections instead of branches wherever both sides are cheap. Every product in a sum is converted
// with float32(…), which prevents the compiler from fusing multiplication and addition. The results of
// this package are therefore bitwise identical on every platform.
//
// The coefficients are minimax fits (Remez, 160 bits), rounded to float32. This package's tests
// check the error stated for each function against package math, at regular steps over the
// function's range.
//
// Some functions return zero instead of a subnormal number (below 2⁻¹²⁶), as their comments state,
// because many devices always flush subnormal numbers to zero.
package fmath
