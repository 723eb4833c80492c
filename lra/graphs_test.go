package lra

import (
	"math"
	"path/filepath"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/seq"
)

// TestGraphs checks that the classes have the expected fractions of edges that join nodes of the
// same kind. Every graph must have 20 to 40 nodes, half of each kind, and four directed edges per
// node. The same seed must produce the same graphs, and another seed other graphs.
func TestGraphs(t *testing.T) {
	o := GraphsOptions{Train: 150, Test: 3, Nodes: 40, Degree: 4, Seed: 7}
	d := must.Get(GenerateGraphs(t.Context(), filepath.Join(t.TempDir(), "a"), o))(t)
	again, err := GenerateGraphs(t.Context(), filepath.Join(t.TempDir(), "b"), o)
	if err != nil || again.Fingerprint() != d.Fingerprint() {
		t.Errorf("the same seed resulted in another fingerprint; error %v", err)
	}
	o.Seed++
	if other, err := GenerateGraphs(t.Context(), filepath.Join(t.TempDir(), "c"), o); err != nil ||
		other.Fingerprint() == d.Fingerprint() {
		t.Errorf("another seed resulted in the same fingerprint; error %v", err)
	}
	f := must.Get(d.Open("train"))(t)
	defer f.Close()
	alike, edges, rows := [3]float64{}, [3]float64{}, [3]int{}
	for i := range f.Len() {
		e, err := f.Example(i)
		n := len(e.Features)
		if err != nil || n < 20 || n > 40 || len(e.Edges) != 4*n {
			t.Fatalf("graph with %d nodes and %d edges, want 20 to 40 nodes and four edges per node; error %v", n,
				len(e.Edges), err)
		}
		sum := float32(0)
		for _, row := range e.Features {
			sum += row[0]
		}
		if sum != 0 {
			t.Errorf("graph %d: one kind has %v more nodes than the other, want the same number", i, sum)
		}
		seen := map[[2]int32]float32{}
		for _, edge := range e.Edges {
			seen[[2]int32{edge.Source, edge.Target}] = edge.Features[0]
			edges[e.Label]++
			if e.Features[edge.Source][0] == e.Features[edge.Target][0] {
				alike[e.Label]++
			}
		}
		for ends, length := range seen {
			if reverse, ok := seen[[2]int32{ends[1], ends[0]}]; !ok || reverse != length || ends[0] == ends[1] {
				t.Fatalf("graph %d: edge %v is a loop, or has no reverse edge with the same features", i, ends)
			}
		}
		if len(seen) != len(e.Edges) {
			t.Errorf("graph %d: an edge occurs twice", i)
		}
		rows[e.Label]++
	}
	for label, c := range graphClasses {
		if fraction := alike[label] / edges[label]; rows[label] < 20 || math.Abs(fraction-float64(c.alike)/100) > 0.03 {
			t.Errorf("%s: %d rows with a fraction %v of edges between equal kinds, want at least 20 and %d%%",
				c.name, rows[label], fraction, c.alike)
		}
	}
}

// TestGraphsInvalidOptions checks that GenerateGraphs refuses invalid options and writes no data set.
func TestGraphsInvalidOptions(t *testing.T) {
	for _, o := range []GraphsOptions{{}, {Train: 1}, {Train: -1, Nodes: 32, Degree: 4}, {Nodes: 32, Degree: 4},
		{Train: 1, Nodes: 32, Degree: 5}, {Train: 1, Nodes: maxNodes + 1, Degree: 1}} {
		dir := filepath.Join(t.TempDir(), "data")
		if d, err := GenerateGraphs(t.Context(), dir, o); err == nil {
			t.Errorf("options %+v: got the data set %v, want an error", o, d)
		}
		must.Fail(t, "", o, "a data set exists")(seq.OpenDataset(dir))
	}
}
