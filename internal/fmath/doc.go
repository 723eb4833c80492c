// Package fmath has the elementary functions of the model in float32.
//
// They are polynomials of this package instead of functions of package math or built-ins of a
// shader, so that every device computes the same ones: the SIMD kernels and the shaders are ports
// of this package. It therefore uses only float32 additions, multiplications, divisions and
// operations on the bits, with selections instead of branches wherever both sides are cheap. Every
// product in a sum is wrapped in float32(…), which prevents the compiler from fusing the two: the
// results are the same bits on every platform.
//
// The coefficients are minimax fits (Remez, 160 bits), rounded to float32. This package's tests
// check the error stated for each function against package math over the whole range of float32.
//
// Numbers below 2⁻¹²⁶ (subnormals) may be flushed to zero where a function says so, as many devices
// do with all of them.
package fmath
