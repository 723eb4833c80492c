package train

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/sparse"
	"github.com/sftseq/sftseq/internal/tensor"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/sft/config"
	"github.com/sftseq/sftseq/sft/internal/configtest"
	"github.com/sftseq/sftseq/sft/internal/model"
	"github.com/sftseq/sftseq/sft/internal/modeltest"
)

// TestBatchingIsBitExact checks that a sequence has the same outputs alone and in any batch, in any
// order, and with any number of threads.
func TestBatchingIsBitExact(t *testing.T) { configtest.OnEveryKind(t, testBatchingIsBitExact) }

func testBatchingIsBitExact(t *testing.T, devices ...tensor.Device) {
	for i, c := range configtest.RandomConfigs() {
		if i%5 != 0 && len(devices) == 1 {
			continue // every configuration compiles its own programs
		}
		random := rand.New(rand.NewPCG(uint64(i), 1))
		m := modeltest.RandomModel(c, uint64(i))
		lengths := []int{1, 2, 31, 33, 64, 130, 7}
		if i == 0 {
			lengths = append(lengths, 4096, 3000, 3000) // requires several concurrent passes
		}
		examples := configtest.RandomExamples(c, random, lengths...)
		alone := make([]sft.Output, len(examples))
		single := modeltest.NewScorerOf(t, m, devices[0])
		for e := range examples {
			alone[e] = modeltest.Score(t, single, examples[e:e+1])[0]
		}
		for _, device := range devices {
			s := modeltest.NewScorerOf(t, m, device)
			order := random.Perm(len(examples))
			var batch []seq.Example
			for _, e := range order {
				batch = append(batch, examples[e])
			}
			for at, o := range modeltest.Score(t, s, batch) {
				want := alone[order[at]]
				same := slices.Equal(o.Logits, want.Logits)
				for tower, v := range want.Embeddings {
					same = same && slices.Equal(o.Embeddings[tower], v)
				}
				if !same {
					t.Errorf("configuration %d (%s, %s, %s), %s, example of length %d in a batch: logits %v, "+
						"embeddings %v; want %v, %v as alone", i, c.Score, c.Probability, c.Relative, device.Name(),
						len(batch[at].A), o.Logits, o.Embeddings, want.Logits, want.Embeddings)
				}
			}
			compareEmbeddings(t, s, examples, alone)
			if c.Sequences() == 2 {
				comparePairs(t, s, alone)
			}
		}
	}
}

// compareEmbeddings compares the results of Embeddings with the embeddings in want.
func compareEmbeddings(t *testing.T, s *sft.Scorer, examples []seq.Example, want []sft.Output) {
	t.Helper()
	var sequences [][]int32
	var vectors [][]float32
	for i, e := range examples {
		sequences, vectors = append(sequences, e.A), append(vectors, want[i].Embeddings...)
		if s.Config().Sequences() == 2 {
			sequences = append(sequences, e.B)
		}
	}
	got := must.Get(s.Embeddings(context.Background(), sequences))(t)
	for i, v := range vectors {
		if !slices.Equal(got[i], v) {
			t.Errorf("embedding %d: %v, expected %v", i, got[i], v)
		}
	}
}

// comparePairs compares the logits of pairs, computed from their embeddings, with the logits in want.
// The pairs do not fit into a single pass.
func comparePairs(t *testing.T, s *sft.Scorer, want []sft.Output) {
	t.Helper()
	var a, b [][]float32
	var logits []float32
	for len(a) <= s.PassTokens()/4 {
		for _, o := range want {
			a, b, logits = append(a, o.Embeddings[0]), append(b, o.Embeddings[1]), append(logits, o.Logits...)
		}
	}
	got := must.Get(s.Compare(context.Background(), a, b))(t)
	if !slices.Equal(got, logits) {
		t.Errorf("the logits of %d pairs from their embeddings differ from the logits from their tokens", len(a))
	}
}

// gradientOf returns the gradient summed over the examples, and the batch's losses, logits and dead
// attention rows.
func gradientOf(t *testing.T, m *sft.Model, slots int, device tensor.Device, examples []seq.Example,
	mode model.PassMode) ([]float32, *batchGradient) {
	t.Helper()
	return weightedGradient(t, m, slots, device, examples, model.Drawing{Mode: mode, Seed: 11, Step: 3}, nil)
}

// weightedGradient is gradientOf with a given drawing and a weight for each class or label.
func weightedGradient(t *testing.T, m *sft.Model, slots int, device tensor.Device,
	examples []seq.Example, d model.Drawing,
	weight []float64) ([]float32, *batchGradient) {
	t.Helper()
	e := must.Get(model.OpenEngine(m.Config, m.Weights, m.NGrams, device))(t)
	defer e.Close()
	a := must.Get(newAccumulator(e, slots))(t)
	a.weight = weight
	b := must.Get(a.run(t.Context(), examples, d))(t)
	g := make([]float32, m.Parameters.Words)
	must.Succeed(t, b.gradient.Read(0, tensor.Bits(g)))
	return g, b
}

// TestGradientOfMicroBatches checks that the gradient of a batch is the sum over its micro-batches
// in a binary tree, for any number of concurrent passes.
func TestGradientOfMicroBatches(t *testing.T) { configtest.OnEveryKind(t, testGradientOfMicroBatches) }

func testGradientOfMicroBatches(t *testing.T, devices ...tensor.Device) {
	// The tree has leaves and inner nodes without a sibling.
	lengths := []int{4000, 200, 5, 90, 3900, 4096, 4000, 100, 1, 2, 4100, 4097}
	microBatchesOf := map[string]int{config.Classification: 5, config.Retrieval: 6}
	if len(devices) == 1 { // Vulkan takes a long time
		lengths, microBatchesOf = lengths[6:], map[string]int{config.Classification: 3}
	}
	for task, want := range microBatchesOf {
		c := configtest.TrainingConfig()
		c.Task, c.HiddenSize, c.NumSampledTokens = task, 4, 3
		c.NGrams = configtest.TokenNGrams()
		m := modeltest.RandomModel(c, 4)
		examples := configtest.RandomExamples(c, rand.New(rand.NewPCG(1, 1)), lengths...)
		dense := func(b *batchGradient) []float32 { return denseRows(b.ngrams, len(m.NGrams.Weights), c.HiddenSize) }
		var sums, ngrams [][]float32
		for _, g := range microBatches(examples, model.MicroBatchTokens) {
			sum, b := gradientOf(t, m, 1, devices[0], g, model.TrainMode)
			sums, ngrams = append(sums, sum), append(ngrams, dense(b))
		}
		if len(sums) != want {
			t.Fatalf("%d micro-batches, expected %d", len(sums), want)
		}
		sum, ngramSum := addTree(sums), addTree(ngrams)
		_, first := gradientOf(t, m, 1, devices[0], examples, model.TrainMode)
		for i, device := range devices {
			slots := 2 + i
			got, b := gradientOf(t, m, slots, device, examples, model.TrainMode)
			for _, p := range m.Parameters.List {
				if !slices.Equal(m.Parameters.Slice(got, p), m.Parameters.Slice(sum, p)) {
					t.Errorf("%s, %d slots, %s: the gradient of %s differs", task, slots, device.Name(), p.Name)
				}
			}
			if !slices.Equal(dense(b), ngramSum) {
				t.Errorf("%s, %d slots, %s: the gradient of n-grams differs", task, slots, device.Name())
			}
			if !slices.Equal(b.loss, first.loss) || !slices.Equal(b.logits, first.logits) ||
				fmt.Sprint(b.deadRows) != fmt.Sprint(first.deadRows) {
				t.Errorf("%s, %d slots, %s: losses, logits or dead attention rows differ", task, slots, device.Name())
			}
		}
	}
}

// denseRows converts a sparse gradient to a dense one with this number of words.
func denseRows(g sparse.Gradient, words, width int) []float32 {
	out := make([]float32, words)
	for i, row := range g.Rows {
		copy(out[int(row)*width:], g.Values[i*width:(i+1)*width])
	}
	return out
}

// addTree sums the slices pairwise until a single slice is left.
func addTree(x [][]float32) []float32 {
	for len(x) > 1 {
		var sums [][]float32
		for i := 0; i < len(x); i += 2 {
			if i+1 < len(x) {
				for j, v := range x[i+1] {
					x[i][j] += v
				}
			}
			sums = append(sums, x[i])
		}
		x = sums
	}
	return x[0]
}

// TestMicroBatches checks that micro-batches hold all examples in order, and that each except the
// last ends as soon as it has at least MicroBatchTokens tokens.
func TestMicroBatches(t *testing.T) {
	random := rand.New(rand.NewPCG(2, 2))
	for range 200 {
		var examples []seq.Example
		for i := range random.IntN(30) {
			e := seq.Example{Index: uint32(i), A: make([]int32, 1+random.IntN(1<<random.IntN(14)))}
			if i%5 == 0 { // micro-batches with exactly MicroBatchTokens tokens
				e.A = make([]int32, model.MicroBatchTokens>>random.IntN(3))
			} else if i%3 == 0 {
				e.B = make([]int32, 1+random.IntN(100))
			}
			examples = append(examples, e)
		}
		next := uint32(0)
		gs := microBatches(examples, model.MicroBatchTokens)
		for g, part := range gs {
			tokens := 0
			for i, e := range part {
				if e.Index != next {
					t.Fatalf("example %d is in position %d", e.Index, next)
				}
				next++
				if tokens >= model.MicroBatchTokens {
					t.Fatalf("micro-batch %d has %d tokens before its example %d", g, tokens, i)
				}
				tokens += len(e.A) + len(e.B)
			}
			if g < len(gs)-1 && tokens < model.MicroBatchTokens {
				t.Fatalf("micro-batch %d of %d ends after %d tokens", g, len(gs), tokens)
			}
		}
		if int(next) != len(examples) {
			t.Fatalf("the micro-batches have %d of %d examples", next, len(examples))
		}
	}
}
