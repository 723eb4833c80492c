package sft

import (
	"context"
	"errors"
	"fmt"

	"github.com/sftseq/sftseq/internal/tensor"
)

// Compare returns the logits of pairs, of which the i-th is that of the sequences
// with the embeddings a[i] and b[i], as [Scorer.Embeddings] has them: row-major,
// and bit for bit those of [Scorer.Examples]. The head alone is run, so that many
// pairs of few sequences cost little. It takes one slot; several may run at once.
func (s *Scorer) Compare(ctx context.Context, a, b [][]float32) ([]float32, error) {
	if err := s.layered(); err != nil {
		return nil, err
	}
	e := s.engine
	if e.config.Sequences() != 2 {
		return nil, errors.New("the model classifies one sequence, a model of pairs was expected")
	}
	if len(a) != len(b) {
		return nil, fmt.Errorf("%d first embeddings, but %d second ones", len(a), len(b))
	}
	// A pair takes less memory than four tokens do.
	size := max(1, s.PassTokens()/4)
	p, err := e.pass(shapeFor(e.config, 1, 2*size, 1, 0), inferMode)
	if err != nil {
		return nil, err
	}
	var l *slot
	select {
	case l = <-s.slots:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	defer func() { s.slots <- l }()
	if err := l.fit(p); err != nil {
		return nil, fmt.Errorf("memory for %d pairs at once: %w", size, err)
	}
	n := e.config.NumLabels
	logits := make([]float32, len(a)*n)
	rows := make([]float32, 0, 2*min(size, len(a))*e.config.HiddenSize)
	for at := 0; at < len(a); at += size {
		end := min(at+size, len(a))
		rows = rows[:0]
		for i := at; i < end; i++ {
			for _, v := range [][]float32{a[i], b[i]} {
				if len(v) != e.config.HiddenSize {
					return nil, fmt.Errorf("pair %d: an embedding of %d, %d was expected", i,
						len(v), e.config.HiddenSize)
				}
				rows = append(rows, v...)
			}
		}
		if err := l.head(ctx, p, rows, logits[at*n:end*n]); err != nil {
			return nil, err
		}
	}
	for at := 0; at < len(logits); at += n {
		copy(logits[at:at+n], e.config.objective().outputs(e.config, logits[at:at+n]))
	}
	return logits, nil
}

// head runs the head on the pooled vectors of pairs, and downloads their logits.
func (l *slot) head(ctx context.Context, p *preparedPass, pooled, logits []float32) error {
	sequences := int32(len(pooled) / l.engine.config.HiddenSize)
	counts := tensor.Counts{Sequences: sequences, Examples: sequences / 2}
	if err := tensor.Upload(l.mem[tensor.Inputs], p.Program.Counts, counts.Words()); err != nil {
		return err
	}
	if err := tensor.Upload(l.mem[tensor.Arena], p.Pooled, pooled); err != nil {
		return err
	}
	if err := p.Run(ctx, l.mem, p.Program.SegmentIndex("head"), len(p.Program.Segments)); err != nil {
		return err
	}
	return tensor.Download(l.mem[tensor.Arena], p.Logits, logits)
}
