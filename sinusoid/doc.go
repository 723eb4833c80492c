// Package sinusoid holds the Hadamard relative encodings of the Sampling
// Foundational Transformer, section 5 of the model's specification.
//
// With S[i,2c] = sin(i·ω_c), S[i,2c+1] = cos(i·ω_c) and ω_c = base^(−2c/dim),
// one head's relative term between the positions i and j is
//
//	lin(i,j) = Σ_c W[c]·S[i,c]·S[j,c] + bias.
//
// By sin a·sin b = ½(cos(a−b) − cos(a+b)) and cos a·cos b = ½(cos(a−b) + cos(a+b))
// it is exactly f(i−j) + g(i+j), two one-dimensional tables of a whole matrix:
//
//	f(t) = ½ Σ_c (W[2c+1] + W[2c])·cos(ω_c·t) + bias
//	g(t) = ½ Σ_c (W[2c+1] − W[2c])·cos(ω_c·t)
//
// f is even, so both need t ≥ 0 only: f L entries, g 2L−1. Over the t's of a
// sequence all tables are one product, of coefficients, which are linear in W
// and the bias (Fold, and its adjoint Unfold), and a matrix of cosines, which
// depends on neither (Cosines). The product is a device's. The package also
// defines lin, and its gradient, slowly in float64 (Reference).
//
// Phases are fixed point, so a cosine is the same bits at any t, on any
// platform: see Frequencies and Cos.
package sinusoid
