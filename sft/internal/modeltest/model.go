package modeltest

import (
	"context"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/cpu"
	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/ngram"
	"github.com/sftseq/sftseq/internal/tensor"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/sft/config"
)

// ReadFiles returns the concatenated contents of files.
func ReadFiles(t *testing.T, paths ...string) string {
	t.Helper()
	var all strings.Builder
	for _, path := range paths {
		text := must.Get(os.ReadFile(path))(t)
		all.Write(text)
	}
	return all.String()
}

// RandomModel returns a model with noise added to every weight, because initial weights leave some
// parts without effect.
func RandomModel(c *config.Config, seed uint64) *sft.Model {
	m := sft.NewModel(c, seed)
	random := rand.New(rand.NewPCG(seed, 3))
	for _, p := range m.Parameters.List {
		for i := range m.Parameters.Slice(m.Weights, p) {
			m.Weights[p.Offset+i] += 0.2 * float32(random.NormFloat64())
		}
	}
	if c.NGrams != nil {
		m.NGrams = randomNGrams(c, random)
	}
	return m
}

// randomNGrams returns random embeddings for a random half of the slots.
func randomNGrams(c *config.Config, random *rand.Rand) *config.NGramTable {
	used, features := ngram.NewBitmap(c.NGrams.Slots), 0
	for i := range uint32(c.NGrams.Slots) {
		if random.IntN(2) == 0 {
			used.Set(i)
			features++
		}
	}
	t := &config.NGramTable{Used: used, Weights: make([]float32, features*c.HiddenSize),
		Squares: make([]float32, features)}
	for i := range t.Weights {
		t.Weights[i] = 0.5 * float32(random.NormFloat64())
	}
	return t
}

// Score returns the outputs of a scorer for examples.
func Score(t *testing.T, s *sft.Scorer, examples []seq.Example) []sft.Output {
	t.Helper()
	return must.Get(s.Examples(context.Background(), examples))(t)
}

// NewScorerOf returns a scorer of m on a device.
func NewScorerOf(t *testing.T, m *sft.Model, device tensor.Device) *sft.Scorer {
	t.Helper()
	return must.Get(sft.NewScorer(m, device))(t)
}

// NewTestScorer returns a scorer of m on two CPU threads.
func NewTestScorer(t *testing.T, m *sft.Model) *sft.Scorer {
	t.Helper()
	return must.Get(sft.NewScorer(m, cpu.New(2)))(t)
}
