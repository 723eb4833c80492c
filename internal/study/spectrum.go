package study

import (
	"errors"
	"math"

	"gonum.org/v1/gonum/mat"
)

// Precisions by which a rank is told: a singular value counts that is larger than the
// precision times the larger of the matrix's sides times the largest value, as in PyTorch
// and NumPy.
const (
	SinglePrecision = 0x1p-23 // 1.19e-7
	DoublePrecision = 0x1p-52
)

// Spectrum has the singular values of a matrix, the largest first.
type Spectrum struct {
	values []float64
	side   int
}

// SpectrumOf computes that of a matrix.
func SpectrumOf(m *mat.Dense) (Spectrum, error) {
	rows, columns := m.Dims()
	var d mat.SVD
	if !d.Factorize(m, mat.SVDNone) {
		return Spectrum{}, errors.New("the singular values of a matrix do not converge")
	}
	return Spectrum{values: d.Values(nil), side: max(rows, columns)}, nil
}

// Rank is how many values count by a precision.
func (s Spectrum) Rank(precision float64) (n int) {
	for _, v := range s.values {
		if v > float64(s.side)*precision*s.values[0] {
			n++
		}
	}
	return n
}

// EntropyRank is exp(−Σ p·log p) of the values p = σ/Σσ: 1 for one value alone, and their
// number where all are equal. It needs no tolerance.
//
// Source: Roy, Vetterli, "The effective rank", EUSIPCO 2007.
func (s Spectrum) EntropyRank() float64 {
	total, entropy := 0.0, 0.0
	for _, v := range s.values {
		total += v
	}
	for _, v := range s.values {
		if p := v / total; p > 0 {
			entropy -= p * math.Log(p)
		}
	}
	return math.Exp(entropy)
}
