package sft

import (
	"context"
	"fmt"

	"github.com/sftseq/sftseq/internal/tensor"
	"github.com/sftseq/sftseq/seq"
)

// Embeddings returns the pooled vector of each sequence, in their order. It is
// the u of the classification head and, in a model of pairs, of each sequence
// alone, for search by cosine: it depends on nothing but the sequence and the
// model. The head is not run. Of a model of masked tokens it is the mean of the
// sequence's tokens.
func (s *Scorer) Embeddings(ctx context.Context, sequences [][]int32) ([][]float32, error) {
	examples := make([]seq.Example, len(sequences))
	for i, tokens := range sequences {
		examples[i].A = tokens
	}
	return s.EmbedExamples(ctx, examples)
}

// EmbedExamples is [Scorer.Embeddings] for examples of one sequence, whose tokens may have
// features.
func (s *Scorer) EmbedExamples(ctx context.Context, examples []seq.Example) ([][]float32, error) {
	if err := s.layered(); err != nil {
		return nil, err
	}
	err := tryInParallel(s.threads(ctx, 1), len(examples), func(i int) error {
		err := error(nil)
		if s.engine.config.Featured() {
			err = s.engine.config.CheckExample(examples[i])
		} else {
			err = s.engine.config.CheckTokens(examples[i].A)
		}
		if err != nil {
			return fmt.Errorf("sequence %d: %w", i, err)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return s.embedded(ctx, examples)
}

// Probe computes the shortest sequence that the model, or the first of several, reads: an error says
// that the device computes no more.
func (s *Scorer) Probe(ctx context.Context) error {
	l := s.withLayers()
	if l == nil { // there is no device that could fail
		return nil
	}
	_, err := l.embedded(ctx, []seq.Example{l.engine.config.shortest()})
	return err
}

// shortest is a sequence of one token.
func (c *Config) shortest() seq.Example {
	if c.Featured() {
		return seq.Example{Features: [][]float32{make([]float32, len(c.FeatureNames))}}
	}
	var token int32
	if c.PadTokenID != nil && *c.PadTokenID == token {
		token++
	}
	return seq.Example{A: []int32{token}}
}

// embedded is EmbedExamples of those that were checked.
func (s *Scorer) embedded(ctx context.Context, examples []seq.Example) ([][]float32, error) {
	out := make([][]float32, len(examples))
	err := s.eachPass(ctx, examples, inferMode, func(ctx context.Context, l *slot, at int, g []seq.Example) error {
		pooled, err := l.embed(ctx, g)
		if err != nil {
			return err
		}
		d := s.engine.config.HiddenSize
		for i := range g {
			out[at+i] = pooled[i*d : (i+1)*d]
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// embed runs single sequences up to the pooling, also in a model of pairs.
func (l *slot) embed(ctx context.Context, examples []seq.Example) ([]float32, error) {
	c := l.engine.config
	d := drawing{mode: inferMode, seed: c.SamplerSeed}
	p, err := l.load(1, examples, d)
	if err != nil {
		return nil, err
	}
	if err := p.Run(ctx, l.mem, 0, p.Program.SegmentIndex("head")); err != nil {
		return nil, err
	}
	pooled := make([]float32, len(examples)*c.HiddenSize)
	return pooled, tensor.Download(l.mem[tensor.Arena], p.Pooled, pooled)
}
