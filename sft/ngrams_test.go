package sft_test

import (
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"github.com/sftseq/sftseq/internal/cpu"
	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/ngram"
	"github.com/sftseq/sftseq/internal/safetensors"
	"github.com/sftseq/sftseq/internal/tensor"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/sft/config"
	"github.com/sftseq/sftseq/sft/internal/configtest"
	"github.com/sftseq/sftseq/sft/internal/model"
	"github.com/sftseq/sftseq/sft/internal/modeltest"
)

// TestNGramLogits checks the logits of models with n-grams of tokens against the float64 reference.
func TestNGramLogits(t *testing.T) { configtest.OnEveryKind(t, testNGramLogits) }

func testNGramLogits(t *testing.T, devices ...tensor.Device) {
	for _, task := range []string{config.Classification, config.Retrieval} {
		c := configtest.WithTask(configtest.TinyConfig(), task)
		c.NGrams = configtest.TokenNGrams()
		m := modeltest.RandomModel(c, 3)
		examples := configtest.RandomExamples(c, rand.New(rand.NewPCG(4, 1)), 1, 9, 40)
		r := modeltest.NewReference(m)
		for _, d := range devices {
			out := modeltest.Score(t, modeltest.NewScorerOf(t, m, d), examples)
			for i, e := range examples {
				want, _ := r.Example(e)
				for class, v := range want {
					if math.Abs(v-float64(out[i].Logits[class])) > 1e-4 {
						t.Errorf("%s, %s, example %d: %v, expected %v", d.Name(), task, i, out[i].Logits, want)
					}
				}
			}
		}
	}
}

// TestNGramsMatter checks that the embedding of a word changes only the logits of sequences with this
// word, whether its letters are upper or lower case. An example has the same logits alone and in a
// batch.
func TestNGramsMatter(t *testing.T) {
	c := configtest.TinyConfig()
	c.VocabSize, c.NGrams = config.ByteVocabulary, configtest.ByteNGrams()
	must.Succeed(t, c.Validate())
	m := modeltest.RandomModel(c, 3)
	ids := func(text string) (out []int32) {
		for _, b := range []byte(text) {
			out = append(out, int32(b)+1)
		}
		return out
	}
	examples := []seq.Example{{A: ids("a good film")}, {A: ids("gold")}, {A: ids("not a GOOD one")}}
	before := modeltest.Score(t, modeltest.NewScorerOf(t, m, cpu.New(2)), examples)
	alone := modeltest.Score(t, modeltest.NewScorerOf(t, m, cpu.New(1)), examples[2:])
	if !slices.Equal(alone[0].Logits, before[2].Logits) {
		t.Errorf("logits %v alone, want %v as in a batch", alone[0].Logits, before[2].Logits)
	}
	o := ngram.Options{Units: ngram.Bytes, MinN: 2, MaxN: 3, Slots: 1 << 10, MinCount: 1, MaxWords: 2}
	v := must.Get(ngram.NewVocabulary(o, nil, m.NGrams.Used))(t)
	row := v.Ending(ngram.NewExtractor(o), ids("a good"), nil)[6*o.Orders()-2] // the n-gram of the word
	if row == ngram.NoFeature {
		t.Fatal("the word has no embedding: choose another seed")
	}
	m.NGrams.Weights[int(row)*c.HiddenSize]++
	after := modeltest.Score(t, modeltest.NewScorerOf(t, m, cpu.New(2)), examples)
	for i, changed := range []bool{true, false, true} {
		if slices.Equal(before[i].Logits, after[i].Logits) == changed {
			t.Errorf("example %d: logits %v, after the change %v", i, before[i].Logits, after[i].Logits)
		}
	}
}

// TestNGramFiles checks that a saved model is loaded unchanged, and the errors for missing tensors and
// wrong shapes. A scorer refuses a model without collected n-grams, and CopyFrom a source with n-grams.
func TestNGramFiles(t *testing.T) {
	c := configtest.TinyConfig()
	c.NGrams = configtest.TokenNGrams()
	m, dir := modeltest.RandomModel(c, 3), t.TempDir()
	must.Succeed(t, m.Save(dir))
	loaded := must.Get(sft.Load(dir))(t)
	if !slices.Equal(loaded.NGrams.Weights, m.NGrams.Weights) || !slices.Equal(loaded.NGrams.Used,
		m.NGrams.Used) || *loaded.Config.NGrams != *c.NGrams {
		t.Error("the loaded model differs from the saved model")
	}
	path := filepath.Join(dir, model.WeightsFile)
	tensors, _ := must.Get2(safetensors.ReadMixed(path))(t)
	for want, change := range map[string]func(tensors []safetensors.Tensor) []safetensors.Tensor{
		`tensor "ngrams.weight" is missing`: func(x []safetensors.Tensor) []safetensors.Tensor {
			return slices.DeleteFunc(x, func(t safetensors.Tensor) bool { return t.Name == model.NGramWeight })
		},
		"expected a row for each of the": func(x []safetensors.Tensor) []safetensors.Tensor {
			for i, t := range x {
				if t.Name == model.NGramWeight {
					x[i].Shape, x[i].Data = []int{t.Shape[0] - 1, t.Shape[1]}, t.Data[t.Shape[1]:]
				}
			}
			return x
		},
		`"ngrams.used_slots" has shape [31], expected [32]`: func(x []safetensors.Tensor) []safetensors.Tensor {
			for i, t := range x {
				if t.Name == "ngrams.used_slots" {
					x[i].Shape, x[i].Ints = []int{31}, t.Ints[:31]
				}
			}
			return x
		},
		`"ngrams.weight" has`: func(x []safetensors.Tensor) []safetensors.Tensor {
			for i, t := range x {
				if t.Name == model.NGramWeight {
					x[i].Shape = []int{t.Shape[1], t.Shape[0]}
				}
			}
			return x
		},
	} {
		must.Succeed(t, safetensors.Write(path, change(slices.Clone(tensors)), nil))
		must.Fail(t, want)(sft.Load(dir))
	}
	plain := configtest.TinyConfig()
	must.Succeed(t, modeltest.RandomModel(plain, 1).Save(dir))
	must.Succeed(t, c.Write(filepath.Join(dir, model.ConfigFile)))
	must.Fail(t, `"ngrams.used_slots" is missing`)(sft.Load(dir))
	must.Fail(t, "were not collected")(sft.NewScorer(sft.NewModel(c, 1), cpu.New(1)))
	must.Fail(t, "the initial model has embeddings of n-grams")(sft.NewModel(plain, 1).CopyFrom(m))
}

// TestQuantizedNGramFiles checks that a model with 8-bit embeddings is loaded within the rounding error, that saving
// it again changes nothing, and that floats in its file are an error.
func TestQuantizedNGramFiles(t *testing.T) {
	c := configtest.TinyConfig()
	c.HiddenSize, c.SinusoidDim, c.NGrams = 8, 8, configtest.TokenNGrams()
	m, dir := modeltest.RandomModel(c, 3), t.TempDir()
	must.Succeed(t, m.Save(dir))
	path := filepath.Join(dir, model.WeightsFile)
	tensors, _ := must.Get2(safetensors.ReadMixed(path))(t)
	c.NGrams.Bits = 8
	must.Succeed(t, m.Save(dir))
	loaded := must.Get(sft.Load(dir))(t)
	for i, w := range loaded.NGrams.Weights {
		if d := math.Abs(float64(w - m.NGrams.Weights[i])); d > 0.02 {
			t.Fatalf("weight %d: the 8-bit model has %v, want %v", i, w, m.NGrams.Weights[i])
		}
	}
	must.Succeed(t, loaded.Save(dir))
	if again := must.Get(sft.Load(dir))(t); !slices.Equal(again.NGrams.Weights, loaded.NGrams.Weights) {
		t.Error("saving the 8-bit model again changes it")
	}
	must.Succeed(t, safetensors.Write(path, tensors, nil))
	must.Fail(t, `tensor "ngrams.quantized_weight" is missing`)(sft.Load(dir))
}
