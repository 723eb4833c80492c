package sft_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sftseq/sftseq/internal/cpu"
	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/tensor"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/sft/internal/configtest"
	"github.com/sftseq/sftseq/sft/internal/modeltest"
)

// TestChunkLogits compares the logits of models of chunks with the float64 reference.
func TestChunkLogits(t *testing.T) {
	configs := configtest.ChunkConfigs()
	var names []string
	for name := range configs {
		names = append(names, name)
	}
	slices.Sort(names)
	configtest.OnEveryDevice(t, names, func(t *testing.T, name string, device tensor.Device) {
		c := configs[name]
		m := modeltest.RandomModel(c, 3)
		examples := configtest.RandomExamples(c, rand.New(rand.NewPCG(4, 1)), 1, 3, 16, 33, 200, 130)
		r := modeltest.NewReference(m)
		for i, out := range modeltest.Score(t, modeltest.NewScorerOf(t, m, device), examples) {
			want, _ := r.Example(examples[i])
			for class, v := range want {
				if !(math.Abs(v-float64(out.Logits[class])) <= 1e-5) {
					t.Errorf("example %d: %v, expected %v", i, out.Logits, want)
					break
				}
			}
		}
	})
}

// TestChunkLogitsAlone checks that the logits of a document have the same bits alone, in a batch and
// with any number of threads.
func TestChunkLogitsAlone(t *testing.T) { configtest.OnEveryKind(t, testChunkLogitsAlone) }

func testChunkLogitsAlone(t *testing.T, devices ...tensor.Device) {
	for name, c := range configtest.ChunkConfigs() {
		if len(devices) == 1 && name != "content" && name != "pairs" {
			continue // every configuration compiles its own programs
		}
		m := modeltest.RandomModel(c, 3)
		examples := configtest.RandomExamples(c, rand.New(rand.NewPCG(4, 1)), 1, 90, 5000, 17, 3000)
		var want []sft.Output
		s := modeltest.NewScorerOf(t, m, devices[0])
		for _, e := range examples {
			want = append(want, modeltest.Score(t, s, []seq.Example{e})[0])
		}
		for _, d := range devices {
			for i, out := range modeltest.Score(t, modeltest.NewScorerOf(t, m, d), examples) {
				if !slices.Equal(out.Logits, want[i].Logits) {
					t.Errorf("%s, %s, example %d: %v in a batch, %v alone", name, d.Name(), i, out.Logits,
						want[i].Logits)
				}
			}
		}
	}
}

// TestChunkEmbeddings checks that the embedding of a sequence is the pooled row of its document.
func TestChunkEmbeddings(t *testing.T) {
	for name, c := range configtest.ChunkConfigs() {
		s := modeltest.NewTestScorer(t, modeltest.RandomModel(c, 3))
		examples := configtest.RandomExamples(c, rand.New(rand.NewPCG(4, 1)), 90, 300)
		out := modeltest.Score(t, s, examples)
		for i, e := range examples {
			for side, tokens := range [][]int32{e.A, e.B}[:c.Sequences()] {
				got := must.Get(s.Embeddings(t.Context(), [][]int32{tokens}))(t)[0]
				if !slices.Equal(got, out[i].Embeddings[side]) {
					t.Errorf("%s: example %d, sequence %d: embedding %v, expected %v", name, i, side, got,
						out[i].Embeddings[side])
				}
			}
		}
	}
}

// TestChunkRefusals checks the errors for outputs that models of chunks do not have.
func TestChunkRefusals(t *testing.T) {
	c := configtest.ChunkConfigs()["content"]
	s := modeltest.NewScorerOf(t, modeltest.RandomModel(c, 3), cpu.New(1))
	examples := configtest.RandomExamples(c, rand.New(rand.NewPCG(4, 1)), 90)
	must.Fail(t, "a model of chunks has no explanations")(s.Explain(t.Context(), examples))
	must.Fail(t, "a model of chunks has no explanations")(s.HiddenStates(t.Context(), examples))
}
