package baseline

import (
	"math"

	"github.com/sftseq/sftseq/seq"
)

// NearestMean is the name of the [nearestMean] baseline.
const NearestMean = "nearest class mean"

// nearestMean returns a baseline that predicts the class whose mean training row has the smallest
// Euclidean distance from the row. All rows have the given length.
func nearestMean(length, classes int, limits limits) *baseline {
	rows := make([]int, classes)
	means := make([][]float64, classes) // sums until the last training row, then means
	trained := 0
	return &baseline{
		name: NearestMean, limits: limits,
		learn: func(examples []seq.Example) {
			for _, e := range examples {
				c := e.Label
				if means[c] == nil {
					means[c] = make([]float64, length)
				}
				for i, v := range e.A {
					means[c][i] += float64(v)
				}
				rows[c]++
				trained++
			}
		},
		finish: func(*work) (int, error) {
			for c, mean := range means {
				for i := range mean {
					mean[i] /= float64(rows[c])
				}
			}
			return trained, nil
		},
		countCorrect: func(examples []seq.Example) (correct int) {
			for _, e := range examples {
				if nearest(means, e.A) == int(e.Label) {
					correct++
				}
			}
			return correct
		},
	}
}

// nearest returns the class whose mean is nearest to row, the first if several tie.
func nearest(means [][]float64, row []int32) int {
	best, minDistance := 0, math.Inf(1)
	for c, mean := range means {
		if mean == nil {
			continue // the class has no training rows
		}
		distance := 0.0
		for i, m := range mean {
			d := float64(row[i]) - m
			distance += d * d
		}
		if distance < minDistance {
			best, minDistance = c, distance
		}
	}
	return best
}
