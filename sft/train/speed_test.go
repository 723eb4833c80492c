package train

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/sftseq/sftseq/internal/cpu"
	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/sft/config"
	"github.com/sftseq/sftseq/sft/internal/model"
)

// BenchmarkGradient computes the gradient of one micro-batch of 4,096 tokens.
func BenchmarkGradient(b *testing.B) {
	for _, s := range []struct{ d, layers, k int }{{32, 2, 16}, {64, 2, 32}, {128, 6, 256}} {
		b.Run(fmt.Sprintf("d%d_layers%d_k%d", s.d, s.layers, s.k), func(b *testing.B) {
			c := &config.Config{
				ModelType: "sft",
				Task:      config.Classification,
				Inputs: config.Inputs{VocabSize: 17, MaxLength: 1 << 20,
					Tokenizer: json.RawMessage(`{"type":"listops"}`)},
				Encoder: config.Encoder{HiddenSize: s.d, NumLayers: s.layers, IntermediateSize: 4 * s.d,
					NormPosition: "pre", LayerNormEps: 1e-5},
				Attention: config.Attention{NumHeads: 4, SinusoidDim: s.d, SinusoidBase: 10000, Score: "maxout",
					Probability: "leaky_relu", Relative: "sinusoid_hadamard"},
				Sampler: config.Sampler{NumSampledTokens: s.k, SamplerNoise: "train"},
				Head:    config.Head{NumLabels: 10},
			}
			e := must.Get(model.NewEngine(c, model.Initialize(c, 1), cpu.New(1)))(b)
			a := must.Get(newAccumulator(e, 1))(b)
			var examples []seq.Example
			for i := range 4 {
				x := seq.Example{Index: uint32(i), Label: int32(i)}
				for j := range model.MicroBatchTokens / 4 {
					x.A = append(x.A, int32((i*7+j*j)%16+1))
				}
				examples = append(examples, x)
			}
			for b.Loop() {
				g, err := a.run(context.Background(), examples, model.Drawing{Mode: model.TrainMode, Seed: 1, Step: 0})
				if err != nil {
					b.Fatal(err)
				}
				a.blocks.release(g.gradient)
			}
			b.ReportMetric(float64(b.N*model.MicroBatchTokens)/b.Elapsed().Seconds(), "tokens/s")
		})
	}
}

// BenchmarkScore scores eight sequences of 2,048 tokens with a model of six layers and 128 channels.
func BenchmarkScore(b *testing.B) {
	c := &config.Config{
		ModelType: "sft",
		Task:      config.Classification,
		Inputs:    config.Inputs{VocabSize: 17, MaxLength: 1 << 20, Tokenizer: json.RawMessage(`{"type":"listops"}`)},
		Encoder: config.Encoder{HiddenSize: 128, NumLayers: 6, IntermediateSize: 512,
			NormPosition: "pre", LayerNormEps: 1e-5},
		Attention: config.Attention{NumHeads: 4, SinusoidDim: 128, SinusoidBase: 10000, Score: "maxout",
			Probability: "leaky_relu", Relative: "sinusoid_hadamard"},
		Sampler: config.Sampler{NumSampledTokens: 256, SamplerNoise: "train"},
		Head:    config.Head{NumLabels: 10},
	}
	s := must.Get(sft.NewScorer(&sft.Model{Config: c, Weights: model.Initialize(c, 1)}, cpu.New(1)))(b)
	var examples []seq.Example
	for i := range 8 {
		x := seq.Example{Index: uint32(i)}
		for j := range 2048 {
			x.A = append(x.A, int32((i*7+j*j)%16+1))
		}
		examples = append(examples, x)
	}
	for b.Loop() {
		if _, err := s.Examples(context.Background(), examples); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N*8*2048)/b.Elapsed().Seconds(), "tokens/s")
}
