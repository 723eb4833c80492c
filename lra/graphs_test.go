package lra

import (
	"math"
	"path/filepath"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/seq"
)

// TestGraphs checks that the classes differ in the fraction of edges that join nodes of one kind
// and in nothing else, and the same seed gives the same graphs.
func TestGraphs(t *testing.T) {
	o := GraphsOptions{Train: 150, Test: 3, Nodes: 40, Degree: 4, Seed: 7}
	d := must.Get(GenerateGraphs(t.Context(), filepath.Join(t.TempDir(), "a"), o))(t)
	again, err := GenerateGraphs(t.Context(), filepath.Join(t.TempDir(), "b"), o)
	if err != nil || again.Fingerprint() != d.Fingerprint() {
		t.Errorf("another fingerprint: %v", err)
	}
	o.Seed++
	if other, err := GenerateGraphs(t.Context(), filepath.Join(t.TempDir(), "c"), o); err != nil ||
		other.Fingerprint() == d.Fingerprint() {
		t.Errorf("the same fingerprint of another seed: %v", err)
	}
	f := must.Get(d.Open("train"))(t)
	defer f.Close()
	alike, edges, rows := [3]float64{}, [3]float64{}, [3]int{}
	for i := range f.Len() {
		e, err := f.Example(i)
		n := len(e.Features)
		if err != nil || n < 20 || n > 40 || len(e.Edges) != 4*n {
			t.Fatal(n, len(e.Edges), err)
		}
		sum := float32(0)
		for _, row := range e.Features {
			sum += row[0]
		}
		if sum != 0 {
			t.Errorf("graph %d: of one kind there are %v more", i, sum)
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
			if back, ok := seen[[2]int32{ends[1], ends[0]}]; !ok || back != length || ends[0] == ends[1] {
				t.Fatalf("graph %d: the edge %v does not lead both ways", i, ends)
			}
		}
		if len(seen) != len(e.Edges) {
			t.Errorf("graph %d: an edge occurs twice", i)
		}
		rows[e.Label]++
	}
	for label, c := range graphClasses {
		if share := alike[label] / edges[label]; rows[label] < 20 || math.Abs(share-float64(c.alike)/100) > 0.03 {
			t.Errorf("%s: %d rows, of whose edges %v join nodes of one kind", c.name, rows[label], share)
		}
	}
}

// TestGraphsRefused checks that options that cannot draw any graph are an error.
func TestGraphsRefused(t *testing.T) {
	for _, o := range []GraphsOptions{{}, {Train: 1}, {Train: -1, Nodes: 32, Degree: 4}, {Nodes: 32, Degree: 4},
		{Train: 1, Nodes: 32, Degree: 5}, {Train: 1, Nodes: maxNodes + 1, Degree: 1}} {
		dir := filepath.Join(t.TempDir(), "data")
		if d, err := GenerateGraphs(t.Context(), dir, o); err == nil {
			t.Errorf("%+v: %v", o, d)
		}
		must.Fail(t, "", o, "a data set exists")(seq.OpenDataset(dir))
	}
}
