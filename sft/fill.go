package sft

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/sftseq/sftseq/seq"
)

// Fill tells the tokens of each sequence that are the mask, [Config.MaskTokenID], with a model
// of the task fill-mask: of each of them, in their order, the logits of all tokens but the mask.
func (s *Scorer) Fill(ctx context.Context, sequences [][]int32) ([][][]float32, error) {
	if err := s.layered(); err != nil {
		return nil, err
	}
	c := s.Config()
	if c.Task != FillMask {
		return nil, fmt.Errorf("the model's task is %s, expected %s", c.Task, FillMask)
	}
	if c.MaskTargets != nil {
		return nil, errors.New("the model tells the spectrum around a masked sample, not the sample, and fills no masks")
	}
	out := make([][][]float32, len(sequences))
	var masked []seq.Example
	var of []int // which sequence
	for i, tokens := range sequences {
		if err := c.CheckTokens(tokens); err != nil {
			return nil, fmt.Errorf("sequence %d: %w", i, err)
		}
		if len(c.masks(tokens)) > 0 {
			masked, of = append(masked, seq.Example{A: tokens}), append(of, i)
		}
	}
	err := s.results(ctx, masked, fillMode, func(at, n int, r *result) {
		logits := slices.Collect(slices.Chunk(r.logits, c.NumLabels))
		for i := at; i < at+n; i++ {
			masks := len(c.masks(masked[i].A))
			out[of[i]], logits = logits[:masks:masks], logits[masks:]
		}
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// MaskedLosses is how well a model of the task fill-mask tells what [Config.Masked] has of each
// example: the sum of their losses, in nats. Several ranks share the work, and all return all
// sums; c is nil for a single process.
func (s *Scorer) MaskedLosses(ctx context.Context, c Communicator, examples []seq.Example) ([]float64, error) {
	if err := s.layered(); err != nil {
		return nil, err
	}
	config := s.Config()
	if config.Task != FillMask {
		return nil, fmt.Errorf("the model's task is %s, expected %s", config.Task, FillMask)
	}
	for i, e := range examples {
		if err := config.checkLabelled(e); err != nil {
			return nil, fmt.Errorf("example %d: %w", i, err)
		}
	}
	measured := func(from, to int) ([][]float32, error) { return s.measured(ctx, examples[from:to]) }
	var rows [][]float32
	var err error
	if c == nil {
		rows, err = measured(0, len(examples))
	} else {
		rows, err = shared(ctx, c, sizes(examples, config.measuredNumbers), measured)
	}
	if err != nil {
		return nil, err
	}
	out := make([]float64, len(rows))
	for i, row := range rows {
		if !finite(row) {
			return nil, fmt.Errorf("example %d: %w", i, errNonFinite)
		}
		out[i] = float64(row[0])
	}
	return out, nil
}
