package sft_test

import (
	"maps"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/tensor"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/sft/config"
	"github.com/sftseq/sftseq/sft/internal/configtest"
	"github.com/sftseq/sftseq/sft/internal/model"
	"github.com/sftseq/sftseq/sft/internal/modeltest"
)

// chunkedTags returns configurations of chunked tagging models, by name.
func chunkedTags() map[string]*config.Config {
	out := configtest.TokenChunkConfigs()
	maps.DeleteFunc(out, func(_ string, c *config.Config) bool { return !c.PerToken() })
	return out
}

// TestChunkTags compares the logits of all tokens and the embeddings with the float64 reference.
func TestChunkTags(t *testing.T) {
	configs := chunkedTags()
	names := slices.Sorted(maps.Keys(configs))
	configtest.OnEveryDevice(t, names, func(t *testing.T, name string, device tensor.Device) {
		m := modeltest.RandomModel(configs[name], 3)
		examples := configtest.RandomExamples(m.Config, rand.New(rand.NewPCG(4, 1)), 1, 3, 16, 33, 200, 130)
		r := modeltest.NewReference(m)
		for i, out := range modeltest.Score(t, modeltest.NewScorerOf(t, m, device), examples) {
			compareEmbedding(t, out.Embeddings[0], r.MeanContext(examples[i].A))
			want := r.TokenLogits(examples[i])
			if len(out.Logits) != len(want) {
				t.Fatalf("example %d: %d logits, expected %d", i, len(out.Logits), len(want))
			}
			for at, v := range want {
				if !(math.Abs(v-float64(out.Logits[at])) <= 1e-5) {
					t.Errorf("example %d: logit %d is %v, expected %v", i, at, out.Logits[at], v)
					break
				}
			}
		}
	})
}

// compareEmbedding compares an embedding with the float64 reference.
func compareEmbedding(t *testing.T, got []float32, want []float64) {
	t.Helper()
	for c, v := range want {
		if !(math.Abs(v-float64(got[c])) <= 1e-5) {
			t.Errorf("embedding %v, expected %v", got, want)
			return
		}
	}
}

// TestChunkTagsAlone checks that the logits and the embedding of a document are bitwise identical
// alone and in a batch, with any number of threads, and with cached exports.
func TestChunkTagsAlone(t *testing.T) { configtest.OnEveryKind(t, testChunkTagsAlone) }

func testChunkTagsAlone(t *testing.T, devices ...tensor.Device) {
	for name, c := range chunkedTags() {
		m := modeltest.RandomModel(c, 3)
		lengths := []int{1, 90, 5000, 17, 3000}
		if len(devices) == 1 {
			lengths = lengths[:2]
		}
		examples := configtest.RandomExamples(c, rand.New(rand.NewPCG(4, 1)), lengths...)
		s := modeltest.NewScorerOf(t, m, devices[0])
		var want []sft.Output
		for _, e := range examples {
			x := modeltest.Score(t, s, []seq.Example{e})[0]
			embedding := must.Get(s.Embeddings(t.Context(), [][]int32{e.A}))(t)[0]
			if len(x.Logits) != len(e.A)*c.NumLabels || !slices.Equal(embedding, x.Embeddings[0]) {
				t.Errorf("%s: %d logits, want %d; Embeddings returned %v, want %v as in the output", name,
					len(x.Logits), len(e.A)*c.NumLabels, embedding, x.Embeddings[0])
			}
			want = append(want, x)
		}
		for _, d := range devices {
			cached := modeltest.NewScorerOf(t, m, d)
			cached.CacheDocuments(1 << 20)
			for _, s := range []*sft.Scorer{modeltest.NewScorerOf(t, m, d), cached, cached} {
				for i, out := range modeltest.Score(t, s, examples) {
					if !reflect.DeepEqual(out, want[i]) {
						t.Errorf("%s, %s, example %d: the outputs in a batch differ from those alone", name,
							d.Name(), i)
					}
				}
			}
			if computed, reused := cached.ChunkCounts(); c.Chunks.Rule == "content" && reused < computed {
				t.Errorf("%s: computed %d chunks and reused %d, want no more computed than reused", name, computed,
					reused)
			}
		}
	}
}

// TestChunkContext checks that the tags of the first tokens depend on the last token, which is in
// another chunk. With weights of 0 for the chunk contexts, they must not depend on it.
func TestChunkContext(t *testing.T) {
	c := configtest.TokenChunkConfigs()["tags"]
	m := modeltest.RandomModel(c, 3)
	e := configtest.RandomExamples(c, rand.New(rand.NewPCG(4, 1)), 400)[0]
	edited := e
	edited.A = slices.Clone(e.A)
	edited.A[399] = (e.A[399] + 1) % int32(c.VocabSize)
	differs := func() bool {
		x := modeltest.Score(t, modeltest.NewTestScorer(t, m), []seq.Example{e, edited})
		first := c.NumLabels * 50
		return !slices.Equal(x[0].Logits[:first], x[1].Logits[:first])
	}
	if !differs() {
		t.Error("the first tags do not depend on the last token")
	}
	p, _ := m.Parameters.Lookup("head.context.weight")
	clear(m.Parameters.Slice(m.Weights, p))
	if differs() {
		t.Error("without contexts, the first tags depend on the last token")
	}
}

// TestChunkMasks compares the losses and the predictions of masked tokens, and the embeddings, with the
// float64 reference. The loss of an example must be the same alone and in a batch. Exports are cached.
func TestChunkMasks(t *testing.T) {
	configtest.OnEveryDevice(t, []string{"masked tokens"}, func(t *testing.T, name string, device tensor.Device) {
		m := modeltest.RandomModel(configtest.TokenChunkConfigs()[name], 3)
		c := m.Config
		examples := configtest.RandomExamples(c, rand.New(rand.NewPCG(4, 1)), 1, 16, 200, 130)
		r, s := modeltest.NewReference(m), modeltest.NewScorerOf(t, m, device)
		s.CacheDocuments(1 << 20)
		losses := must.Get(s.MaskedLosses(t.Context(), nil, examples))(t)
		var masked [][]int32
		for i, e := range examples {
			mean, n := r.FillMaskLoss(examples[i : i+1])
			if !(math.Abs(losses[i]-mean*float64(n)) <= 1e-4) {
				t.Errorf("example %d: loss %v, expected %v", i, losses[i], mean*float64(n))
			}
			alone := must.Get(s.MaskedLosses(t.Context(), nil, examples[i:i+1]))(t)
			if alone[0] != losses[i] {
				t.Errorf("example %d: got loss %v alone, want %v as in a batch", i, alone[0], losses[i])
			}
			compareEmbedding(t, must.Get(s.Embeddings(t.Context(), [][]int32{e.A}))(t)[0], r.MeanContext(e.A))
			tokens, _ := model.MaskTokens(c, e.A, e.Index, model.Drawing{Mode: model.LossMode, Seed: 3})
			masked = append(masked, tokens)
		}
		for i, logits := range must.Get(s.Fill(t.Context(), masked))(t) {
			rows, masks := r.Normed(masked[i]), model.Masks(c, masked[i])
			if len(logits) != len(masks) {
				t.Fatalf("example %d: got predictions of %d masks, want %d", i, len(logits), len(masks))
			}
			for n, at := range masks {
				for v, want := range r.MaskedLogits(rows[at]) {
					if !(math.Abs(want-float64(logits[n][v])) <= 1e-5) {
						t.Errorf("example %d, mask %d: %v, expected %v", i, n, logits[n][v], want)
					}
				}
			}
		}
	})
}
