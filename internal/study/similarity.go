package study

import (
	"math"

	"gonum.org/v1/gonum/mat"
)

// Similarity is how alike the tokens of a sequence are.
type Similarity struct {
	Cosine  float64 // mean of all pairs of tokens
	Rank    int     // by the precision of float32
	Entropy float64 // rank by entropy
}

// SimilarityOf measures rows of so many channels, of at least two tokens. With unit vectors u
// the mean cosine of the pairs is (‖Σ u_i‖² − n) / (n(n − 1)); a row of zeros is like no
// other.
func SimilarityOf(rows []float32, width int) (Similarity, error) {
	n := len(rows) / width
	m := mat.NewDense(n, width, nil)
	sum, units := make([]float64, width), 0
	for i := range n {
		row := m.RawRowView(i)
		for c := range row {
			row[c] = float64(rows[i*width+c])
		}
		size := math.Sqrt(dot(row, row))
		if size == 0 {
			continue
		}
		units++
		for c, v := range row {
			sum[c] += v / size
		}
	}
	s, err := SpectrumOf(m)
	if err != nil {
		return Similarity{}, err
	}
	pairs := float64(n) * float64(n-1)
	return Similarity{Cosine: (dot(sum, sum) - float64(units)) / pairs, Rank: s.Rank(SinglePrecision), Entropy: s.EntropyRank()}, nil
}
