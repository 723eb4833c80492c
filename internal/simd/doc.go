// Package simd has the vector kernels of the CPU: assembly for AVX-512 and for AVX2 with FMA, from
// the generator in gen (`make asm`), and for each an equivalent in Go, which all other CPUs run.
//
// A kernel's result for an element does not depend on its position in a slice, nor on the length of
// the slice: vectors and remainders use the same instructions. Different instruction sets may
// differ in the last bits.
//
// SFTSEQ_SIMD=avx2 or go selects a lower level than the CPU supports.
package simd
