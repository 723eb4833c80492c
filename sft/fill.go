package sft

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/sftseq/sftseq/internal/fmath"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft/config"
	"github.com/sftseq/sftseq/sft/internal/model"
)

// Fill predicts the masked tokens ([config.Config.MaskTokenID]) of each sequence with a model of
// the task fill-mask. For each masked token in order it returns the logits of all tokens except the
// mask.
func (s *Scorer) Fill(ctx context.Context, sequences [][]int32) ([][][]float32, error) {
	if err := s.layered(); err != nil {
		return nil, err
	}
	c := s.Config()
	if c.Task != config.FillMask {
		return nil, fmt.Errorf("the model's task is %s, expected %s", c.Task, config.FillMask)
	}
	if c.MaskTargets != nil {
		return nil, errors.New("the model predicts the spectrum around a masked sample instead of the sample, so it cannot fill masks")
	}
	out := make([][][]float32, len(sequences))
	var masked []seq.Example
	var sequenceOf []int // sequence of each element of masked
	for i, tokens := range sequences {
		if err := c.CheckTokens(tokens); err != nil {
			return nil, fmt.Errorf("sequence %d: %w", i, err)
		}
		if len(model.Masks(c, tokens)) > 0 {
			masked, sequenceOf = append(masked, seq.Example{A: tokens}), append(sequenceOf, i)
		}
	}
	err := s.runner.Results(ctx, masked, model.FillMode, func(at, n int, r *model.Result) {
		logits := slices.Collect(slices.Chunk(r.Logits, c.NumLabels))
		for i := at; i < at+n; i++ {
			masks := len(model.Masks(c, masked[i].A))
			out[sequenceOf[i]], logits = logits[:masks:masks], logits[masks:]
		}
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// MaskedLosses returns the loss of a model of the task fill-mask for each example: the sum over the
// tokens that an evaluation masks, in nats. Several ranks share the work, and each returns all sums.
// c is nil for a single process.
func (s *Scorer) MaskedLosses(ctx context.Context, c Communicator, examples []seq.Example) ([]float64, error) {
	if err := s.layered(); err != nil {
		return nil, err
	}
	cfg := s.Config()
	if cfg.Task != config.FillMask {
		return nil, fmt.Errorf("the model's task is %s, expected %s", cfg.Task, config.FillMask)
	}
	for i, e := range examples {
		if err := cfg.CheckLabelled(e); err != nil {
			return nil, fmt.Errorf("example %d: %w", i, err)
		}
	}
	rows, err := s.runner.SharedMeasured(ctx, c, examples)
	if err != nil {
		return nil, err
	}
	out := make([]float64, len(rows))
	for i, row := range rows {
		if !fmath.Finite(row) {
			return nil, fmt.Errorf("example %d: %w", i, errNonFinite)
		}
		out[i] = float64(row[0])
	}
	return out, nil
}

// Masked returns the targets at the positions that an evaluation masks in an example, for a model of the task
// fill-mask.
func Masked(c *Config, e seq.Example) []int32 { return model.Masked(c, e) }

// Targets returns the targets at all positions of an example, for a model of the task fill-mask.
func Targets(c *Config, e seq.Example) []int32 { return model.Targets(c, e) }
