package baseline

import (
	"math"

	"github.com/sftseq/sftseq/seq"
)

// NearestMean is what [nearestMean] is called.
const NearestMean = "nearest class mean"

// nearestMean answers the class whose mean row in training is nearest, by Euclidean
// distance. All rows have the same length.
func nearestMean(length, classes int, most limits) *simple {
	rows := make([]int, classes)
	means := make([][]float64, classes) // sums, until all rows have been seen
	trained := 0
	return &simple{
		name: NearestMean, most: most,
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
		right: func(examples []seq.Example) (right int) {
			for _, e := range examples {
				if nearest(means, e.A) == int(e.Label) {
					right++
				}
			}
			return right
		},
	}
}

// nearest is the class whose mean is nearest to a row, the first of equal ones.
func nearest(means [][]float64, row []int32) int {
	best, least := 0, math.Inf(1)
	for c, mean := range means {
		if mean == nil {
			continue // no row of training
		}
		distance := 0.0
		for i, m := range mean {
			d := float64(row[i]) - m
			distance += d * d
		}
		if distance < least {
			best, least = c, distance
		}
	}
	return best
}
