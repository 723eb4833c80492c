package main

import (
	"errors"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"
)

// singlePrecision is the precision of float32. A singular value counts towards the rank if it is
// larger than the precision times the larger side of the matrix times the largest value, as in
// PyTorch and NumPy.
const singlePrecision = 0x1p-23 // 1.19e-7

// spectrum has the singular values of a matrix, the largest first.
type spectrum struct {
	values []float64
	side   int
}

// spectrumOf computes the spectrum of a matrix: the roots of the eigenvalues of its product with
// itself. These are exact to about 1e-16 of the largest; below spectrumFloor they are set to 0.
// Gonum's singular value decomposition is more precise, but occasionally wrong for matrices with
// nearly equal rows: for one whose rows differ by 1e-14 it gave a second value of 7e-4 of the
// first.
func spectrumOf(m *mat.Dense) (spectrum, error) {
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

// spectrumFloor is the fraction of the largest singular value below which values are rounding
// errors.
const spectrumFloor = 2e-7

// rank returns the number of values that count at a precision.
func (s spectrum) rank(precision float64) (n int) {
	for _, v := range s.values {
		if v > float64(s.side)*precision*s.values[0] {
			n++
		}
	}
	return n
}

// entropyRank returns exp(−Σ p·log p) of the values p = σ/Σσ: 1 for a single value, and their
// number if all are equal. It needs no tolerance.
//
// Source: Roy, Vetterli, "The effective rank", EUSIPCO 2007.
func (s spectrum) entropyRank() float64 {
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
