package graphlines

import (
	"context"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/seq"
)

// undirected returns a graph of nodes without features, with an edge in both directions for each
// pair.
func undirected(nodes int, pairs ...[2]int32) *seq.Example {
	x := &seq.Example{Features: make([][]float32, nodes)}
	for _, p := range pairs {
		x.Edges = append(x.Edges, seq.Edge{Source: p[0], Target: p[1]}, seq.Edge{Source: p[1], Target: p[0]})
	}
	return x
}

// TestWalk checks the return probabilities of a path, a cycle and other graphs against values
// computed by hand.
func TestWalk(t *testing.T) {
	path := undirected(3, [2]int32{0, 1}, [2]int32{1, 2})
	triangle := undirected(3, [2]int32{0, 1}, [2]int32{1, 2}, [2]int32{2, 0})
	square := undirected(4, [2]int32{0, 1}, [2]int32{1, 2}, [2]int32{2, 3}, [2]int32{3, 0})
	star := undirected(4, [2]int32{0, 1}, [2]int32{0, 2}, [2]int32{0, 3})
	directed := &seq.Example{Features: make([][]float32, 4), Edges: []seq.Edge{{Source: 0, Target: 1},
		{Source: 1, Target: 2}, {Source: 2, Target: 0}, {Source: 3, Target: 3}, {Source: 3, Target: 0}}}
	twice := &seq.Example{Features: make([][]float32, 3), Edges: []seq.Edge{{Source: 0, Target: 1},
		{Source: 0, Target: 1}, {Source: 0, Target: 2}, {Source: 1, Target: 0}}}
	for _, c := range []struct {
		name string
		x    *seq.Example
		want string
	}{
		{"path", path, "[[0 0.5 0 0.5] [0 1 0 1] [0 0.5 0 0.5]]"},
		{"triangle", triangle, "[[0 0.5 0.25 0.375] [0 0.5 0.25 0.375] [0 0.5 0.25 0.375]]"},
		{"square", square, "[[0 0.5 0 0.5] [0 0.5 0 0.5] [0 0.5 0 0.5] [0 0.5 0 0.5]]"},
		{"star", star, "[[0 1 0 1] [0 0.33333334 0 0.33333334] [0 0.33333334 0 0.33333334] [0 0.33333334 0 0.33333334]]"},
		{"directed", directed, "[[0 0 1 0] [0 0 1 0] [0 0 1 0] [0.5 0.25 0.125 0.0625]]"},
		{"an edge twice, and a dead end", twice, "[[0 0.6666667 0 0.44444445] [0 0.6666667 0 0.44444445] [0 0 0 0]]"},
		{"no edges", undirected(2), "[[0 0 0 0] [0 0 0 0]]"},
	} {
		if err := AppendWalk(t.Context(), c.x.Features, c.x.Edges, 4); err != nil ||
			fmt.Sprint(c.x.Features) != c.want {
			t.Errorf("%s: got %v, error %v, want %s", c.name, c.x.Features, err, c.want)
		}
	}
}

// TestWalkStar checks that the leaves of a star share a walk, and that their probabilities are
// correct. With a walk for each leaf, the time would grow with the square of the number of leaves.
func TestWalkStar(t *testing.T) {
	const leaves = 100_000
	x := undirected(leaves + 1)
	for i := range int32(leaves) {
		x.Edges = append(x.Edges, seq.Edge{Source: 0, Target: i + 1}, seq.Edge{Source: i + 1, Target: 0})
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	must.Succeed(t, AppendWalk(ctx, x.Features, x.Edges, 4))
	for i, want := range map[int]float32{0: 1, 1: 1. / leaves, leaves: 1. / leaves} {
		if got := x.Features[i]; len(got) != 4 || got[0] != 0 || got[1] != want || got[2] != 0 ||
			math.Abs(float64(got[3]/want-1)) > 1e-6 {
			t.Errorf("node %d: got %v, want 0 %g 0 %g", i, got, want, want)
		}
	}
}

// TestWalkTooLong checks that a graph which needs too many additions is refused with an error that
// states the limit.
func TestWalkTooLong(t *testing.T) {
	defer func(before int64) { maxAdditions = before }(maxAdditions)
	maxAdditions = 10
	x := undirected(4, [2]int32{0, 1}, [2]int32{1, 2}, [2]int32{2, 3}, [2]int32{3, 0})
	must.Fail(t, "a graph of 4 nodes and 8 edges exceeds the limit of 10 additions")(AppendWalk(t.Context(), x.Features,
		x.Edges, 4))
}

// TestWalkDense checks that the sparse probabilities equal the diagonals of powers of the dense
// matrix.
func TestWalkDense(t *testing.T) {
	const n, steps = 9, 12
	x := undirected(n)
	for i := range int32(n) {
		for j := range int32(n) {
			if (7*i+5*j+i*j)%4 == 0 {
				x.Edges = append(x.Edges, seq.Edge{Source: i, Target: j})
			}
		}
	}
	var matrix, power [n][n]float64
	var degree [n]float64
	for _, e := range x.Edges {
		degree[e.Source]++
	}
	for _, e := range x.Edges {
		matrix[e.Source][e.Target] += 1 / degree[e.Source]
	}
	must.Succeed(t, AppendWalk(t.Context(), x.Features, x.Edges, steps))
	power = matrix
	for k := range steps {
		for i := range n {
			if d := math.Abs(float64(x.Features[i][k]) - power[i][i]); d > 1e-6 {
				t.Errorf("step %d, node %d: got %g, want %g", k+1, i, x.Features[i][k], power[i][i])
			}
		}
		var next [n][n]float64
		for i := range n {
			for j := range n {
				for l := range n {
					next[i][j] += power[i][l] * matrix[l][j]
				}
			}
		}
		power = next
	}
}

// TestWalkVanishes checks that the list of active nodes has no duplicates even if probabilities underflow.
// In the graph, a chain, each node has two edges to the next node and many to a dead end.
func TestWalkVanishes(t *testing.T) {
	const chain, dead, steps = 125, 3000, 125
	x := &seq.Example{Features: make([][]float32, chain+1)}
	for i := range int32(chain - 1) {
		x.Edges = append(x.Edges, seq.Edge{Source: i, Target: i + 1}, seq.Edge{Source: i, Target: i + 1})
		for range dead {
			x.Edges = append(x.Edges, seq.Edge{Source: i, Target: chain})
		}
	}
	// If a node were listed repeatedly, the work would double with each step, and the test would not
	// end.
	must.Check(t, AppendWalk(t.Context(), x.Features, x.Edges, steps))
}

// TestCancelled checks that a walk ends with its context.
func TestCancelled(t *testing.T) {
	done, cancel := context.WithCancel(t.Context())
	cancel()
	if err := AppendWalk(done, make([][]float32, 2), nil, 1); err != context.Canceled {
		t.Errorf("got error %v, want context.Canceled", err)
	}
}
