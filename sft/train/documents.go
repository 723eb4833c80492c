package train

import (
	"context"
	"fmt"

	"github.com/sftseq/sftseq/internal/tensor"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft/internal/model"
)

// documents computes micro-batches of chunked documents, one per slot. A slot's gradient is the sum of
// the document stage's gradient and the gradients of the runs of chunks, added in order.
func (a *accumulator) documents(ctx context.Context, group []*model.Slot, examples [][]seq.Example,
	results []*model.Result, d model.Drawing) error {
	term, err := a.blocks.take()
	if err != nil {
		return fmt.Errorf("memory for gradients: %w", err)
	}
	defer a.blocks.release(term)
	for i, l := range group {
		if results[i], err = a.document(ctx, l, term, examples[i], d); err != nil {
			return err
		}
	}
	return nil
}

// document computes the gradient of a micro-batch in the slot's memory for gradients. term is memory
// for one term of the sum.
func (a *accumulator) document(ctx context.Context, l *model.Slot, term tensor.Memory, examples []seq.Example,
	d model.Drawing) (*model.Result, error) {
	g, err := l.StartDocuments(ctx, examples, d)
	if err != nil {
		return nil, err
	}
	sum := l.Memory[tensor.Gradients]
	defer func() { l.Memory[tensor.Gradients] = sum }()
	for {
		l.Memory[tensor.Gradients] = term
		more, err := g.Next(ctx)
		if err != nil {
			return nil, err
		}
		if !more {
			return g.Result(), nil
		}
		if err := a.blocks.add(ctx, sum, term); err != nil {
			return nil, err
		}
	}
}
