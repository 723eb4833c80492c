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

// maxAdditions is the maximum number of additions for a graph, a few minutes of work. Tests change it.
var maxAdditions int64 = 30_000_000_000

// keyOf returns a list of targets as the key of a map.
func keyOf(targets []int32) string {
	key := make([]byte, 0, 4*len(targets))
	for _, t := range targets {
		key = binary.LittleEndian.AppendUint32(key, uint32(t))
	}
	return string(key)
}

// AppendWalk appends return probabilities to the features of each node: the probability that a
// random walk from the node is at the node again after 1, 2, … steps, the diagonals of (D⁻¹A)ᵏ. A
// step takes each outgoing edge of a node with equal probability; a walk ends at a node without
// outgoing edges. The probabilities describe the position of a node in the graph without
// identifying nodes (Dwivedi et al., "Graph Neural Networks with Learnable Structural and
// Positional Representations", ICLR 2022).
//
// The probabilities are not estimated by sampling. The computation is sparse and follows the edges from
// each node. It takes at most steps × nodes × edges additions, and fewer if few nodes are within reach.
// Nodes with the same targets, such as the leaves of a star, share a walk after the first step. The
// order of the edges determines the order of the additions, so equal graphs have bitwise identical
// probabilities. AppendWalk returns an error if it needs more than maxAdditions.
func AppendWalk(ctx context.Context, features [][]float32, edges []seq.Edge, steps int) error {
	if steps == 0 {
		return nil
	}
	n := len(features)
	first := make([]int32, n+1) // index of the first target of each node
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
	groups := make(map[string][]int32) // nodes with the same targets, in order
	var order []string
	for from := range n {
		key := keyOf(targets[first[from]:first[from+1]])
		if groups[key] == nil {
			order = append(order, key)
		}
		groups[key] = append(groups[key], int32(from))
	}
	additions := int64(0)
	at, to := make([]float64, n), make([]float64, n) // probabilities before and after a step; all 0 between walks
	var active, reached []int32                      // nodes with nonzero probabilities, without duplicates
	for _, key := range order {
		group := groups[key]
		at[group[0]], active = 1, append(active[:0], group[0])
		for step := range steps {
			if err := ctx.Err(); err != nil {
				return err
			}
			reached = reached[:0]
			for _, i := range active {
				out := targets[first[i]:first[i+1]]
				additions += int64(len(out))
				p := at[i] / float64(len(out))
				at[i] = 0
				if p == 0 { // underflow: the targets would be listed repeatedly
					continue
				}
				for _, t := range out {
					if to[t] == 0 {
						reached = append(reached, t)
					}
					to[t] += p
				}
			}
			at, to, active, reached = to, at, reached, active
			for _, from := range group {
				features[from] = append(features[from], float32(at[from]))
			}
			if additions > maxAdditions {
				return fmt.Errorf("random walk: a graph of %d nodes and %d edges exceeds the limit of %d additions "+
					"at step %d of %d: use fewer steps", n, len(edges), maxAdditions, step+1, steps)
			}
		}
		for _, i := range active {
			at[i] = 0
		}
	}
	return nil
}
