package model

import (
	"context"
	"errors"
	"fmt"

	"github.com/sftseq/sftseq/internal/tensor"
)

// Compare returns the logits of pairs, row-major. Row i belongs to the pair of sequences with the
// embeddings a[i] and b[i].
func (r *Runner) Compare(ctx context.Context, a, b [][]float32) ([]float32, error) {
	e := r.engine
	if e.Config.Sequences() != 2 {
		return nil, errors.New("the model reads single sequences, expected a model of pairs")
	}
	if len(a) != len(b) {
		return nil, fmt.Errorf("found %d first and %d second embeddings, expected equal numbers", len(a), len(b))
	}
	// A pair needs less memory than four tokens.
	size := max(1, r.PassTokens()/4)
	p, err := e.pass(lastStage(e.Config).shapeFor(e.Config, 1, 2*size, 1, 0), InferMode)
	if err != nil {
		return nil, err
	}
	var l *Slot
	select {
	case l = <-r.slots:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	defer func() { r.slots <- l }()
	if err := l.ensureCapacity(p); err != nil {
		return nil, fmt.Errorf("memory for a batch of %d pairs: %w", size, err)
	}
	n := e.Config.NumLabels
	logits := make([]float32, len(a)*n)
	rows := make([]float32, 0, 2*min(size, len(a))*e.Config.HiddenSize)
	for at := 0; at < len(a); at += size {
		end := min(at+size, len(a))
		rows = rows[:0]
		for i := at; i < end; i++ {
			for _, v := range [][]float32{a[i], b[i]} {
				if len(v) != e.Config.HiddenSize {
					return nil, fmt.Errorf("pair %d: found an embedding of %d numbers, expected %d", i,
						len(v), e.Config.HiddenSize)
				}
				rows = append(rows, v...)
			}
		}
		if err := l.head(ctx, p, rows, logits[at*n:end*n]); err != nil {
			return nil, err
		}
	}
	return logits, nil
}

// head runs the head on the pooled vectors of pairs and downloads their logits.
func (l *Slot) head(ctx context.Context, p *preparedPass, pooled, logits []float32) error {
	sequences := int32(len(pooled) / l.engine.Config.HiddenSize)
	counts := tensor.Counts{Sequences: sequences, Examples: sequences / 2}
	if err := tensor.Upload(l.Memory[tensor.Inputs], p.Program.Counts, counts.Words()); err != nil {
		return err
	}
	if err := tensor.Upload(l.Memory[tensor.Arena], p.Pooled, pooled); err != nil {
		return err
	}
	if err := p.Run(ctx, l.Memory, p.Program.SegmentIndex("head"), len(p.Program.Segments)); err != nil {
		return err
	}
	return tensor.Download(l.Memory[tensor.Arena], p.Logits, logits)
}
