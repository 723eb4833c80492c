package main

import (
	"errors"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"
)

// epsilon32 is the machine epsilon of float32. Like PyTorch and NumPy, rank counts a singular value if
// it exceeds the product of epsilon, the larger side of the matrix and the largest singular value.
const epsilon32 = 0x1p-23 // 1.19e-7

// spectrum contains the singular values of a matrix in descending order.
type spectrum struct {
	values []float64
	side   int // larger of the numbers of rows and columns
}

// newSpectrum computes the singular values of a matrix as the square roots of the eigenvalues of its
// Gram matrix. The error of an eigenvalue is about 1e-16 of the largest. Singular values up
// to spectrumFloor times the largest are set to 0. Gonum's singular value decomposition is more accurate, but
// occasionally wrong for nearly equal rows. For a matrix whose rows differ by 1e-14, it returned a second
// singular value of 7e-4 of the first.
func newSpectrum(m *mat.Dense) (spectrum, error) {
	rows, columns := m.Dims()
	product := mat.NewSymDense(min(rows, columns), nil)
	if rows <= columns {
		product.SymOuterK(1, m)
	} else {
		product.SymOuterK(1, m.T())
	}
	var e mat.EigenSym
	if !e.Factorize(product, false) {
		return spectrum{}, errors.New("the eigenvalues of a matrix do not converge")
	}
	values := e.Values(nil)
	slices.Reverse(values)
	first := values[0]
	for i, v := range values {
		if values[i] = 0; v > spectrumFloor*spectrumFloor*first {
			values[i] = math.Sqrt(max(v, 0))
		}
	}
	return spectrum{values: values, side: max(rows, columns)}, nil
}

// spectrumFloor is the fraction of the largest singular value up to which newSpectrum regards a
// singular value as a rounding error.
const spectrumFloor = 2e-7

// rank returns the number of singular values above epsilon · side · largest singular value.
func (s spectrum) rank(epsilon float64) (n int) {
	for _, v := range s.values {
		if v > float64(s.side)*epsilon*s.values[0] {
			n++
		}
	}
	return n
}

// effectiveRank returns exp(−Σ p·log p) with p = σ/Σσ. It is 1 for a single nonzero singular value,
// and the number of singular values if all are equal. It needs no tolerance.
//
// Source: Roy, Vetterli, "The effective rank", EUSIPCO 2007.
func (s spectrum) effectiveRank() float64 {
	total, entropy := 0.0, 0.0
	for _, v := range s.values {
		total += v
	}
	for _, v := range s.values {
		if p := v / total; v > 0 {
			entropy -= p * math.Log(p)
		}
	}
	return math.Exp(entropy)
}
