package model

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sftseq/sftseq/internal/cpu"
	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/tensor"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft/config"
	"github.com/sftseq/sftseq/sft/internal/configtest"
)

// packOne packs examples of one sequence with one thread.
func packOne(c *config.Config, examples []seq.Example, d Drawing) *packed {
	var p packed
	p.pack(c, 1, examples, d, 1)
	return &p
}

// contents formats a batch without its scratch memory.
func contents(p packed) string {
	p.edges = packedEdges{first: p.edges.first, source: p.edges.source, features: p.edges.features}
	return fmt.Sprint(p)
}

// TestPackAgain checks that neither an earlier batch in the same memory nor the number of threads
// changes a packed batch.
func TestPackAgain(t *testing.T) {
	random := rand.New(rand.NewPCG(2, 7))
	graphs, clouds := configtest.GraphConfig(configtest.GoldenConfig(config.Classification)),
		configtest.CloudConfig(configtest.GoldenConfig(config.Classification))
	ones := configtest.GraphConfig(configtest.GoldenConfig(config.Classification))
	ones.Input = config.OnesInput
	var again packed
	for i, x := range []struct {
		c        *config.Config
		examples []seq.Example
	}{
		{graphs, configtest.RandomGraphs(graphs, random, 200, 1, 20_000, 4, 2100)},
		{clouds, configtest.RandomClouds(clouds, random, 60, 1, 5)},
		{graphs, configtest.RandomGraphs(graphs, random, 7, 40)},
		{ones, configtest.RandomGraphs(ones, random, 9, 1)},
		{graphs, configtest.RandomGraphs(graphs, random, 90, 2, 40, 60, 3000, 11)},
	} {
		d := Drawing{Mode: TrainMode, Seed: 3, Step: 4}
		want := packOne(x.c, x.examples, d)
		for threads := 1; threads <= 4; threads++ {
			again.pack(x.c, 1, x.examples, d, threads)
			if got, want := contents(again), contents(*want); got != want {
				t.Errorf("batch %d, %d threads: %.300s, expected %.300s", i, threads, got, want)
			}
		}
	}
}

// TestPackThreads checks that idle CPU cores pack batches, except for urgent and for patient
// requests.
func TestPackThreads(t *testing.T) {
	c := configtest.TinyConfig()
	r := must.Get(OpenRunner(c, Initialize(c, 1), nil, cpu.New(4), 1))(t)
	defer r.Close()
	ctx := context.Background()
	for _, x := range []struct {
		ctx          context.Context
		passes, want int
	}{{ctx, 1, 4}, {ctx, 2, 2}, {ctx, 3, 1}, {ctx, 50, 1}, {ctx, 0, 4}, {tensor.Patient(ctx), 1, 1},
		{tensor.Urgent(ctx), 1, 1}} {
		if got := r.threads(x.ctx, x.passes); got != x.want {
			t.Errorf("%d threads for each of %d passes, expected %d (urgent %t, patient %t)", got, x.passes, x.want,
				tensor.IsUrgent(x.ctx), tensor.IsPatient(x.ctx))
		}
	}
}

// BenchmarkPack checks a batch, packs it and writes it to the memory of a pass: the host's work
// before a device computes. The batch has 64 examples of 1,024 tokens, or one example of 100,000.
// Graphs have ten edges per node.
func BenchmarkPack(b *testing.B) {
	clouds := configtest.CloudConfig(configtest.GoldenConfig(config.Classification))
	clouds.FeatureNames = append(slices.Clone(seq.PositionNames), seq.NormalNames...)
	for _, size := range []struct{ examples, tokens int }{{64, 1024}, {1, 100_000}} {
		name := fmt.Sprintf("%dx%d", size.examples, size.tokens)
		b.Run("clouds/"+name, func(b *testing.B) { benchmarkPack(b, clouds, size.examples, size.tokens, 0) })
		for _, names := range [][]string{{}, {"length"}, {"order", "length"}} {
			graphs := configtest.GraphConfig(configtest.GoldenConfig(config.Classification))
			graphs.EdgeFeatureNames = names
			b.Run(fmt.Sprintf("graphs/features%d/%s", len(names), name), func(b *testing.B) {
				benchmarkPack(b, graphs, size.examples, size.tokens, 10*size.tokens)
			})
		}
	}
}

func benchmarkPack(b *testing.B, c *config.Config, examples, tokens, edges int) {
	c.MaxLength = tokens
	random := rand.New(rand.NewPCG(1, 1))
	rows := func(n, width int) [][]float32 { // as read from a data set
		values, out := make([]float32, n*width), make([][]float32, n)
		for i := range values {
			values[i] = random.Float32()
		}
		for i := range out {
			out[i] = values[i*width:][:width:width]
		}
		return out
	}
	batch := make([]seq.Example, examples)
	for i := range batch {
		e := &batch[i]
		e.Features = rows(tokens, len(c.FeatureNames))
		for _, row := range rows(edges, len(c.EdgeFeatureNames)) {
			e.Edges = append(e.Edges, seq.Edge{Source: random.Int32N(int32(tokens)),
				Target: random.Int32N(int32(tokens)), Features: row})
		}
	}
	e := must.Get(NewEngine(c, Initialize(c, 1), cpu.New(0)))(b)
	l := e.Slot()
	l.Packers = e.Threads(1)
	run := func() {
		must.Succeed(b, TryInParallel(l.Packers, len(batch), func(i int) error { return c.CheckExample(batch[i]) }))
		must.Get(l.Load(1, batch, Drawing{Mode: InferMode}))(b)
	}
	run() // allocates the memory and records the pass
	b.ReportAllocs()
	for b.Loop() {
		run()
	}
	perRun := float64(b.Elapsed().Nanoseconds()) / float64(b.N)
	b.ReportMetric(perRun/float64(examples*tokens), "ns/token")
	if edges > 0 {
		b.ReportMetric(perRun/float64(examples*edges), "ns/edge")
	}
}
