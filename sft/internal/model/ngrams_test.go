package model

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/ngram"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft/config"
	"github.com/sftseq/sftseq/sft/internal/configtest"
)

// TestNGramDropout checks that training drops the configured fraction of n-grams, and that the
// selection depends on the step, but not on the other examples of the batch.
func TestNGramDropout(t *testing.T) {
	c := configtest.TinyConfig()
	c.NGrams = configtest.TokenNGrams()
	c.NGrams.Dropout = 0.3
	used := ngram.NewBitmap(c.NGrams.Slots)
	for i := range uint32(c.NGrams.Slots) {
		used.Set(i)
	}
	table, err := NewNGrams(c, &config.NGramTable{Used: used, Weights: make([]float32, c.NGrams.Slots*c.HiddenSize)})
	must.Succeed(t, err)
	examples := configtest.RandomExamples(c, rand.New(rand.NewPCG(4, 1)), 400, 300)
	rows := func(examples []seq.Example, d Drawing) []uint32 {
		p := packed{ngrams: packedNGrams{table: table}}
		p.pack(c, 1, examples, d, 1)
		return slices.Clone(p.ngrams.features)
	}
	countDropped := func(rows []uint32) (n int) {
		for _, r := range rows {
			if r == ngram.NoFeature {
				n++
			}
		}
		return n
	}
	all := rows(examples, Drawing{Mode: EvaluateMode, Seed: 1, Step: 7})
	training := rows(examples, Drawing{Mode: TrainMode, Seed: 1, Step: 7})
	found := len(all) - countDropped(all)
	if dropped := float64(countDropped(training)-countDropped(all)) / float64(found); found < 400 ||
		math.Abs(dropped-0.3) > 0.06 {
		t.Errorf("%d n-grams, want at least 400; a fraction of %.2f is dropped, want 0.3", found, dropped)
	}
	if alone := rows(examples[1:], Drawing{Mode: TrainMode, Seed: 1, Step: 7}); !slices.Equal(alone, training[800:]) {
		t.Error("another example in the batch changes the dropped n-grams")
	}
	if next := rows(examples, Drawing{Mode: TrainMode, Seed: 1, Step: 8}); slices.Equal(next, training) {
		t.Error("steps 7 and 8 drop the same n-grams, want different ones")
	}
}

// TestQuantizedState checks that a checkpoint has floats, even if the model's file has 8-bit embeddings, and that
// an exponent out of range is an error.
func TestQuantizedState(t *testing.T) {
	c := configtest.TinyConfig()
	c.HiddenSize, c.SinusoidDim, c.NGrams = 8, 8, configtest.TokenNGrams()
	c.NGrams.Bits = 8
	used := ngram.NewBitmap(c.NGrams.Slots)
	used.Set(3)
	used.Set(700)
	table := &config.NGramTable{Used: used, Weights: make([]float32, 16), Squares: []float32{1, 2}}
	for i := range table.Weights {
		table.Weights[i] = 1 / float32(i+1)
	}
	got := must.Get(ReadNGrams(c, NGramStateTensors(c, table), true))(t)
	if !slices.Equal(got.Weights, table.Weights) || !slices.Equal(got.Squares, table.Squares) || c.NGrams.Bits != 8 {
		t.Errorf("the checkpoint has weights %v and squares %v, want %v and %v; bits %d, want 8", got.Weights,
			got.Squares, table.Weights, table.Squares, c.NGrams.Bits)
	}
	tensors := NGramTensors(c, table)
	rounded := must.Get(ReadNGrams(c, tensors, false))(t)
	if slices.Equal(rounded.Weights, table.Weights) {
		t.Error("the file has no 8-bit embeddings")
	}
	tensors[len(tensors)-1].Ints[1] = 122
	must.Fail(t, `tensor "ngrams.exponent": expected exponents from -149 to 121, found 122 at index 1`)(
		ReadNGrams(c, tensors, false))
}
