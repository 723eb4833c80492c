package graphlines

import (
	"context"
	"strconv"

	"github.com/sftseq/sftseq/seq"
)

// WalkNames returns the names of the features that a random walk of the given number of steps adds.
func WalkNames(steps int) (names []string) {
	for k := range steps {
		names = append(names, "rw"+strconv.Itoa(k+1))
	}
	return names
}

// AppendWalk appends to the features of each node the probabilities that a random walk from it is back after 1
// to so many steps, the diagonals of (D⁻¹A)ᵏ. A step takes each of the edges that lead from a node with
// the same probability; where none does, the walk ends. They say where a node is among the others
// without naming any (Dwivedi et al., "Graph Neural Networks with Learnable Structural and Positional
// Representations", ICLR 2022).
//
// The probabilities are exact, and sparse: from each node on they go along the edges, so that a graph
// costs at most steps × nodes × edges additions, and less where few nodes are within reach. A sum has
// the order of the edges.
func AppendWalk(ctx context.Context, features [][]float32, edges []seq.Edge, steps int) error {
	if steps == 0 {
		return nil
	}
	n := len(features)
	first := make([]int32, n+1) // of the targets of each node
	for _, e := range edges {
		first[e.Source+1]++
	}
	for i := range n {
		first[i+1] += first[i]
	}
	targets, next := make([]int32, len(edges)), append([]int32(nil), first...)
	for _, e := range edges {
		targets[next[e.Source]] = e.Target
		next[e.Source]++
	}
	at, to := make([]float64, n), make([]float64, n) // where the walk is, and is next; 0 between walks
	var here, there []int32                          // the nodes where that is not 0, each once
	for from := range n {
		if err := ctx.Err(); err != nil {
			return err
		}
		at[from], here = 1, append(here[:0], int32(from))
		for range steps {
			there = there[:0]
			for _, i := range here {
				out := targets[first[i]:first[i+1]]
				p := at[i] / float64(len(out))
				at[i] = 0
				if p == 0 { // it was too small a number: a node that it leads to would not count as there
					continue
				}
				for _, t := range out {
					if to[t] == 0 {
						there = append(there, t)
					}
					to[t] += p
				}
			}
			at, to, here, there = to, at, there, here
			features[from] = append(features[from], float32(at[from]))
		}
		for _, i := range here {
			at[i] = 0
		}
	}
	return nil
}
