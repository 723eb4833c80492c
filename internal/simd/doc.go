// Package simd holds the vector kernels of the CPU: assembly for AVX-512 and
// for AVX2 with FMA, written by the generator in gen (`make asm`), and for each
// a twin in Go, which is also what runs on every other processor.
//
// A kernel's result for an element does not depend on where the element lies in
// a slice, nor on how many lie beside it: vectors and remainders go through the
// same instructions. Different instruction sets may differ in the last bits.
//
// SFTSEQ_SIMD=avx2 or go asks for a lower level than the processor has.
package simd
