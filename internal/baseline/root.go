package baseline

import (
	"slices"

	"github.com/sftseq/sftseq/seq"
)

// Root is the name of the [root] baseline.
const Root = "operator at the root alone"

// root returns a baseline that predicts the most frequent value of the training expressions with the
// same first token.
func root(classes int, limits limits) *baseline {
	values := map[int32][]int{} // row counts per value, by first token
	all := make([]int, classes) // row counts per value, for first tokens absent from training
	trained := 0
	return &baseline{
		name: Root, window: 1, limits: limits,
		learn: func(examples []seq.Example) {
			for _, e := range examples {
				first := e.A[0]
				if values[first] == nil {
					values[first] = make([]int, classes)
				}
				values[first][e.Label]++
				all[e.Label]++
				trained++
			}
		},
		finish: func(*work) (int, error) { return trained, nil },
		countCorrect: func(examples []seq.Example) (correct int) {
			for _, e := range examples {
				counts := values[e.A[0]]
				if counts == nil {
					counts = all
				}
				if slices.Index(counts, slices.Max(counts)) == int(e.Label) { // the first value if several tie
					correct++
				}
			}
			return correct
		},
	}
}
