// Package sinusoid computes the Hadamard relative encodings of the Sampling Foundational
// Transformer.
//
// With S[i,2c] = sin(i·ω_c), S[i,2c+1] = cos(i·ω_c) and ω_c = base^(−2c/dim), the relative term of
// a head between the positions i and j is
//
//	lin(i,j) = Σ_c W[c]·S[i,c]·S[j,c] + bias.
//
// By sin a·sin b = ½(cos(a−b) − cos(a+b)) and cos a·cos b = ½(cos(a−b) + cos(a+b)), lin(i,j) is
// exactly f(i−j) + g(i+j). Two one-dimensional tables therefore replace a matrix:
//
//	f(t) = ½ Σ_c (W[2c+1] + W[2c])·cos(ω_c·t) + bias
//	g(t) = ½ Σ_c (W[2c+1] − W[2c])·cos(ω_c·t)
//
// f is even and i+j ≥ 0, so both tables need only t ≥ 0. For a sequence of length L, f has L entries and g has
// 2L−1. The tables are the product of a matrix of coefficients, which are linear in W and the bias
// (Fold, and its adjoint Unfold), and a matrix of cosines, which depend on neither (Cosines). Devices
// compute the product. The package also has a slow implementation of lin and its gradient in float64
// (Reference).
//
// Phases are in fixed point, so the cosine at t is bitwise identical in every range of t and on every
// platform: see Frequencies and Cos.
package sinusoid
