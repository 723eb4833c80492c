package graphlines

import (
	"context"
	"encoding/binary"
	"fmt"
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

// maxAdditions bounds the work on a graph to minutes. Tests set it.
var maxAdditions int64 = 30_000_000_000

// keyOf is a list of targets as the key of a map.
func keyOf(targets []int32) string {
	key := make([]byte, 0, 4*len(targets))
	for _, t := range targets {
		key = binary.LittleEndian.AppendUint32(key, uint32(t))
	}
	return string(key)
}

// AppendWalk appends to the features of each node the probabilities that a random walk from it is back after 1
// to so many steps, the diagonals of (D⁻¹A)ᵏ. A step takes each of the edges that lead from a node with
// the same probability; where none does, the walk ends. They say where a node is among the others
// without naming any (Dwivedi et al., "Graph Neural Networks with Learnable Structural and Positional
// Representations", ICLR 2022).
//
// The probabilities are exact, and sparse: from each node on they go along the edges, so that a graph
// costs at most steps × nodes × edges additions, and less where few nodes are within reach or where
// nodes, such as the leaves of a star, have the same targets: their walks are one from the first step
// on. A sum has the order of the edges. More than maxAdditions are an error.
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
	groups := make(map[string][]int32) // of the nodes with the same targets in one order
	var order []string
	for from := range n {
		key := keyOf(targets[first[from]:first[from+1]])
		if groups[key] == nil {
			order = append(order, key)
		}
		groups[key] = append(groups[key], int32(from))
	}
	additions := int64(0)
	at, to := make([]float64, n), make([]float64, n) // where the walk is, and is next; 0 between walks
	var here, there []int32                          // the nodes where that is not 0, each once
	for _, key := range order {
		alike := groups[key]
		at[alike[0]], here = 1, append(here[:0], alike[0])
		for step := range steps {
			if err := ctx.Err(); err != nil {
				return err
			}
			there = there[:0]
			for _, i := range here {
				out := targets[first[i]:first[i+1]]
				additions += int64(len(out))
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
			for _, from := range alike {
				features[from] = append(features[from], float32(at[from]))
			}
			if additions > maxAdditions {
				return fmt.Errorf("random walk: a graph of %d nodes and %d edges takes more than %d additions, "+
					"which step %d of %d exceeds: use fewer steps", n, len(edges), maxAdditions, step+1, steps)
			}
		}
		for _, i := range here {
			at[i] = 0
		}
	}
	return nil
}
