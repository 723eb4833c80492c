package model

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft/config"
	"github.com/sftseq/sftseq/sft/internal/configtest"
)

// TestGraphMemory checks that the memory plan includes the edges of graphs with many edges.
func TestGraphMemory(t *testing.T) {
	c := configtest.GraphConfig(configtest.GoldenConfig(config.Classification))
	dense := configtest.RandomGraphs(c, rand.New(rand.NewPCG(7, 7)), 60)[0]
	for len(dense.Edges) < 60*60 {
		dense.Edges = append(dense.Edges, dense.Edges[len(dense.Edges)%100])
	}
	if n := PlannedLength(dense); n != 60*60/PlannedEdges {
		t.Errorf("the graph is planned as %d tokens, want 450", n)
	}
	if passes := forwardPasses(plannedExamples([]seq.Example{dense, dense, dense}), 1000); !slices.Equal(passes,
		[]int{2, 1}) {
		t.Errorf("passes of %v graphs, want [2 1]", passes)
	}
	words := func(edges int) int {
		return must.Get(PassWords(c, NewParameters(c), nil, TrainMode, 1000, 10, edges))(t)
	}
	if few, many := words(1024), words(1024+4096); many-few != 4096*(1+len(c.EdgeFeatureNames)+1) {
		t.Errorf("4096 additional edges take %d words, want %d", many-few, 4096*(1+len(c.EdgeFeatureNames)+1))
	}
}

// TestPasses checks that a pass has at most the maximum number of tokens, unless it holds a single
// longer example, and that short sequences count with a minimum length.
func TestPasses(t *testing.T) {
	var examples []seq.Example
	for _, n := range []int{40, 60, 1, 100, 101, 32, 36, 1, 1, 1, 1} {
		examples = append(examples, seq.Example{A: make([]int32, n)})
	}
	sizes := forwardPasses(plannedExamples(examples), 100)
	if want := []int{2, 1, 1, 1, 3, 3}; !slices.Equal(sizes, want) {
		t.Errorf("passes of %v examples, expected %v", sizes, want)
	}
}
