// Package simd implements the vector kernels of the CPU. The kernels have assembly for AVX-512 and
// for AVX2 with FMA, written by the generator in gen (make asm), and an equivalent in Go for all
// other CPUs. There are three exceptions: the AVX-512 level uses the AVX2 assembly of Transpose and Prefetch,
// Prefetch does nothing in Go, and Copy is Go's built-in copy at all levels.
//
// The result for an element does not depend on its position in a slice or on the length of the
// slice, because vectors and remainders use the same instructions. Results of different instruction
// sets may differ in the last bits.
//
// SFTSEQ_SIMD=avx2 or SFTSEQ_SIMD=go selects a level instead of the fastest one that the CPU supports.
package simd
