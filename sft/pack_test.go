package sft

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/sftseq/sftseq/internal/cpu"
	"github.com/sftseq/sftseq/seq"
)

// packOne packs examples of one sequence with one thread.
func packOne(c *Config, examples []seq.Example, d drawing) *packed {
	var p packed
	p.pack(c, 1, examples, d, 1)
	return &p
}

// TestPackAgain: what was packed before into the same memory, and the number of threads, change
// nothing.
func TestPackAgain(t *testing.T) {
	random := rand.New(rand.NewPCG(2, 7))
	graphs, clouds := graphConfig(goldenConfig(Classification)), cloudConfig(goldenConfig(Classification))
	ones := graphConfig(goldenConfig(Classification))
	ones.Input = OnesInput
	var again packed
	for i, x := range []struct {
		c        *Config
		examples []seq.Example
	}{
		{graphs, randomGraphs(graphs, random, 200, 1, 30, 4, 2100)},
		{clouds, randomClouds(clouds, random, 60, 1, 5)},
		{graphs, randomGraphs(graphs, random, 7, 40)},
		{ones, randomGraphs(ones, random, 9, 1)},
		{graphs, randomGraphs(graphs, random, 90, 2, 40, 60, 3000, 11)},
	} {
		d := drawing{mode: trainMode, seed: 3, step: 4}
		want := packOne(x.c, x.examples, d)
		for threads := 1; threads <= 4; threads++ {
			again.pack(x.c, 1, x.examples, d, threads)
			for _, p := range []*packed{&again, want} { // memory that is no part of a batch
				p.edges.sorters, p.edges.examples = nil, nil
			}
			if got, want := fmt.Sprintf("%v", again), fmt.Sprintf("%v", *want); got != want {
				t.Errorf("batch %d, %d threads: %.300s, expected %.300s", i, threads, got, want)
			}
		}
	}
}

// The batch of [BenchmarkPack].
const packExamples, packTokens = 64, 1024

// BenchmarkPack checks 64 examples of 1,024 tokens, packs them and writes them to the memory of a
// pass: all that the host does before a device computes.
func BenchmarkPack(b *testing.B) {
	clouds := cloudConfig(goldenConfig(Classification))
	clouds.FeatureNames = append(append([]string{}, seq.PositionNames...), seq.NormalNames...)
	b.Run("clouds", func(b *testing.B) { benchmarkPack(b, clouds, 0) })
	for _, names := range [][]string{{}, {"length"}, {"order", "length"}} {
		graphs := graphConfig(goldenConfig(Classification))
		graphs.EdgeFeatureNames = names
		b.Run(fmt.Sprintf("graphs_features%d", len(names)), func(b *testing.B) { benchmarkPack(b, graphs, 10*packTokens) })
	}
}

func benchmarkPack(b *testing.B, c *Config, edges int) {
	c.MaxLength = packTokens
	random := rand.New(rand.NewPCG(1, 1))
	rows := func(n, width int) [][]float32 { // as a data set has them
		values, out := make([]float32, n*width), make([][]float32, n)
		for i := range values {
			values[i] = random.Float32()
		}
		for i := range out {
			out[i] = values[i*width:][:width:width]
		}
		return out
	}
	examples := make([]seq.Example, packExamples)
	for i := range examples {
		e := &examples[i]
		e.Features = rows(packTokens, len(c.FeatureNames))
		for _, row := range rows(edges, len(c.EdgeFeatureNames)) {
			e.Edges = append(e.Edges, seq.Edge{Source: random.Int32N(packTokens), Target: random.Int32N(packTokens), Features: row})
		}
	}
	e, err := newEngine(c, Initialize(c, 1), cpu.New(1))
	if err != nil {
		b.Fatal(err)
	}
	l := e.slot()
	b.ReportAllocs()
	for b.Loop() {
		for _, e := range examples {
			if err := c.CheckExample(e); err != nil {
				b.Fatal(err)
			}
		}
		if _, err := l.load(1, examples, drawing{mode: inferMode}); err != nil {
			b.Fatal(err)
		}
	}
	perRun := float64(b.Elapsed().Nanoseconds()) / float64(b.N)
	b.ReportMetric(perRun/float64(packExamples*packTokens), "ns/token")
	if edges > 0 {
		b.ReportMetric(perRun/float64(packExamples*edges), "ns/edge")
	}
}
