package baseline

import (
	"slices"

	"github.com/sftseq/sftseq/seq"
)

// Root is what [root] is called.
const Root = "operator at the root alone"

// root answers what is most often the value of expressions that begin with the same token.
func root(classes int, most limits) *simple {
	values := map[int32][]int{} // rows of each value by first token
	all := make([]int, classes) // rows of each value, used for tokens that training lacks
	trained := 0
	return &simple{
		name: Root, window: 1, most: most,
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
		right: func(examples []seq.Example) (right int) {
			for _, e := range examples {
				counts := values[e.A[0]]
				if counts == nil {
					counts = all
				}
				if slices.Index(counts, slices.Max(counts)) == int(e.Label) { // the first of equal ones
					right++
				}
			}
			return right
		},
	}
}
