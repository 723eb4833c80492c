package model

import (
	"context"
	"fmt"

	"github.com/sftseq/sftseq/internal/tensor"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft/config"
)

// Embeddings returns the pooled vectors of single sequences, in the order of the examples that hold
// them. It does not run the head.
func (r *Runner) Embeddings(ctx context.Context, examples []seq.Example) ([][]float32, error) {
	err := TryInParallel(r.threads(ctx, 1), len(examples), func(i int) error {
		err := error(nil)
		if r.engine.Config.HasFeatures() {
			err = r.engine.Config.CheckExample(examples[i])
		} else {
			err = r.engine.Config.CheckTokens(examples[i].A)
		}
		if err != nil {
			return fmt.Errorf("sequence %d: %w", i, err)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return r.embedExamples(ctx, examples)
}

// Probe computes the embedding of the shortest sequence that the model accepts.
func (r *Runner) Probe(ctx context.Context) error {
	_, err := r.embedExamples(ctx, []seq.Example{shortestExample(r.engine.Config)})
	return err
}

// shortestExample returns a sequence of one token.
func shortestExample(c *config.Config) seq.Example {
	if c.HasFeatures() {
		return seq.Example{Features: [][]float32{make([]float32, len(c.FeatureNames))}}
	}
	var token int32
	if c.PadTokenID != nil && *c.PadTokenID == token {
		token++
	}
	return seq.Example{A: []int32{token}}
}

// embedExamples returns the pooled vectors of examples whose tokens or features are valid.
func (r *Runner) embedExamples(ctx context.Context, examples []seq.Example) ([][]float32, error) {
	out := make([][]float32, len(examples))
	c := r.engine.Config
	drawing := Drawing{Mode: InferMode, Seed: c.SamplerSeed}
	err := r.forEachBatch(ctx, examples, 1, drawing, func(ctx context.Context, l *Slot, at, n int) error {
		pooled, err := l.embed(ctx, drawing)
		if err != nil {
			return err
		}
		for i := range n {
			out[at+i] = pooled[i*c.HiddenSize : (i+1)*c.HiddenSize]
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// embed runs the packed single sequences up to the pooling, even if the model reads pairs.
func (l *Slot) embed(ctx context.Context, d Drawing) ([]float32, error) {
	p, err := l.upload(d)
	if err != nil {
		return nil, err
	}
	if err := p.Run(ctx, l.Memory, 0, p.Program.SegmentIndex("head")); err != nil {
		return nil, err
	}
	pooled := make([]float32, len(l.batch.example)*l.engine.Config.HiddenSize)
	return pooled, tensor.Download(l.Memory[tensor.Arena], p.Pooled, pooled)
}
