package sft_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sftseq/sftseq/internal/cpu"
	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/tensor"
	"github.com/sftseq/sftseq/internal/testenv"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/sft/config"
	"github.com/sftseq/sftseq/sft/internal/configtest"
	"github.com/sftseq/sftseq/sft/internal/modeltest"
)

// maskedSequences returns sequences with some, no or only mask tokens.
func maskedSequences(c *config.Config) (out [][]int32) {
	random := rand.New(rand.NewPCG(4, 9))
	for i, e := range configtest.RandomExamples(c, random, 12, 1, 70, 5, 33, 700, 8) {
		for t := range e.A {
			if i != 3 && (i == 1 || i == 5 || random.IntN(5) == 0) {
				e.A[t] = *c.MaskTokenID
			}
		}
		out = append(out, e.A)
	}
	return out
}

// TestFillAgainstReference compares predictions of masked tokens and embeddings of whole sequences
// with the reference, on the CPU and on Vulkan. Predictions must not depend on the other sequences of
// the batch.
func TestFillAgainstReference(t *testing.T) { configtest.OnEveryKind(t, testFillAgainstReference) }

func testFillAgainstReference(t *testing.T, devices ...tensor.Device) {
	testenv.NoRace(t, "compares with slow loops in float64")
	for _, c := range configtest.FillMaskConfigs() {
		m := modeltest.RandomModel(c, 3)
		s, reference, sequences := modeltest.NewScorerOf(t, m,
			devices[0]), modeltest.NewReference(m), maskedSequences(c)
		batch := must.Get(s.Fill(t.Context(), sequences))(t)
		embeddings := must.Get(s.Embeddings(t.Context(), sequences))(t)
		for i, tokens := range sequences {
			x, mean, n := reference.Normed(tokens), make([]float64, c.HiddenSize), 0
			for at, row := range x {
				for j, v := range row {
					mean[j] += v / float64(len(x))
				}
				if tokens[at] != *c.MaskTokenID {
					continue
				}
				for v, want := range reference.MaskedLogits(row) {
					if got := batch[i][n][v]; math.Abs(float64(got)-want) > 1e-4 {
						t.Fatalf("sequence %d, token %d, logit %d: %v, expected %v", i, at, v, got, want)
					}
				}
				n++
			}
			if len(batch[i]) != n {
				t.Errorf("sequence %d: %d masks filled, expected %d", i, len(batch[i]), n)
			}
			for j, want := range mean {
				if got := embeddings[i][j]; math.Abs(float64(got)-want) > 1e-4 {
					t.Fatalf("sequence %d, embedding[%d]: %v, expected %v", i, j, got, want)
				}
			}
			alone, err := s.Fill(t.Context(), [][]int32{tokens})
			if err != nil || !slices.EqualFunc(alone[0], batch[i], slices.Equal) {
				t.Errorf("sequence %d: different predictions alone, error %v", i, err)
			}
		}
	}
}

// TestFillRefusals checks the errors for a model of another task and for invalid tokens. A call
// without sequences must succeed.
func TestFillRefusals(t *testing.T) {
	labels := modeltest.NewScorerOf(t, modeltest.RandomModel(configtest.TinyConfig(), 1), cpu.New(1))
	must.Fail(t, "task is classification, expected fill-mask")(labels.Fill(t.Context(), [][]int32{{1}}))
	s := modeltest.NewScorerOf(t, modeltest.RandomModel(configtest.WithTask(configtest.TinyConfig(), config.FillMask),
		1),
		cpu.New(1))
	must.Fail(t, "sequence 1: token 9 at index 0 is outside the vocabulary")(s.Fill(t.Context(),
		[][]int32{{1, 8}, {9}}))
	if out, err := s.Fill(t.Context(), nil); err != nil || len(out) != 0 {
		t.Errorf("no sequences: got %v, error %v", out, err)
	}
}

// TestCopyFromFillMask checks that a classifier copies everything from a model of masked tokens
// except its head and the mask's embedding. In the other direction, a model of masked tokens keeps its
// own head and mask's embedding. It also checks the errors for models with other sizes.
func TestCopyFromFillMask(t *testing.T) {
	testCopyFromFillMask(t, configtest.WithTask(configtest.TinyConfig(), config.FillMask))
	testCopyFromFillMask(t, configtest.TokenChunkConfigs()["masked tokens"])
}

func testCopyFromFillMask(t *testing.T, fillMask *config.Config) {
	pretrained := modeltest.RandomModel(fillMask, 1)
	spec := seq.Spec{Task: config.Classification, Tokenizer: pretrained.Config.Tokenizer, VocabSize: 8,
		LabelNames: []string{"a", "b", "c"}}
	c := *pretrained.Config
	c.Task, c.TieEmbeddings = "", true
	if err := c.DescribeData(spec); err != nil || c.MaskTokenID != nil || c.VocabSize != 8 || c.MaskRate != 0 ||
		c.MaskSpan != 0 || c.TieEmbeddings {
		t.Fatalf("classifier: mask token set %t, %d tokens, mask rate %g, mask span %g, tied embeddings %t, error %v; "+
			"want false, 8, 0, 0, false, <nil>", c.MaskTokenID != nil, c.VocabSize, c.MaskRate, c.MaskSpan,
			c.TieEmbeddings, err)
	}
	labels := modeltest.RandomModel(&c, 2)
	for _, models := range [][2]*sft.Model{{labels, pretrained}, {pretrained, labels}} {
		m, source := modeltest.RandomModel(models[0].Config, 5), models[1]
		before := slices.Clone(m.Weights)
		fresh := must.Get(m.CopyFrom(source))(t)
		const d, tokens = 6, 8
		for _, p := range m.Parameters.List {
			got, want := m.Parameters.Slice(m.Weights, p), m.Parameters.Slice(before, p)
			if p.Part != config.PartHead {
				q, _ := source.Parameters.Lookup(p.Name)
				want = slices.Clone(want)
				copy(want, source.Parameters.Slice(source.Weights, q))
			}
			if !slices.Equal(got, want) {
				t.Errorf("%s from %s: %s has wrong values", m.Config.Task, source.Config.Task, p.Name)
			}
			isFresh := slices.ContainsFunc(fresh, func(f config.Parameter) bool { return f.Name == p.Name })
			if isFresh != (p.Part == config.PartHead) {
				t.Errorf("%s from %s: %s is returned as fresh: %t", m.Config.Task, source.Config.Task, p.Name, isFresh)
			}
		}
		p, _ := m.Parameters.Lookup("embed.weight")
		if mask := m.Parameters.Slice(m.Weights, p)[d*tokens:]; !slices.Equal(mask,
			m.Parameters.Slice(before, p)[d*tokens:]) {
			t.Error("the mask's embedding, which the classifier does not have, is not fresh")
		}
	}
	c.NumLabels, c.LabelNames = 8, nil // the number of tokens
	if fresh, err := sft.NewModel(&c, 1).CopyFrom(pretrained); err != nil || len(fresh) != 4 {
		t.Errorf("%d parameters are fresh, expected the 4 of the head, which predicts tokens; error %v", len(fresh),
			err)
	}
	other := configtest.TinyConfig()
	other.Chunks = fillMask.Chunks
	must.Fail(t, "a vocabulary of 8 tokens, expected 9",
		"a vocabulary of another size")(sft.NewModel(other, 1).CopyFrom(pretrained))
	for want, change := range map[string]func(*config.Config){
		fmt.Sprintf("the initial model has hidden_size %d, expected %d", c.HiddenSize,
			2*c.HiddenSize): func(c *config.Config) { c.HiddenSize *= 2 },
		fmt.Sprintf("the initial model has num_hidden_layers %d, expected %d", c.NumLayers,
			c.NumLayers+1): func(c *config.Config) { c.NumLayers++ },
		fmt.Sprintf("the initial model has intermediate_size %d, expected %d", c.IntermediateSize,
			4): func(c *config.Config) { c.IntermediateSize = 4 },
	} {
		wider := c
		change(&wider)
		if _, err := sft.NewModel(&wider, 1).CopyFrom(pretrained); err == nil || err.Error() != want {
			t.Errorf("error %v, expected %s", err, want)
		}
	}
}
