package train

import (
	"cmp"
	"errors"
	"fmt"
	"math"

	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft/config"
	"github.com/sftseq/sftseq/sft/internal/model"
)

// fillMask is the training task of models that predict masked tokens.
type fillMask struct{}

func (fillMask) settings(c *config.Config, s *Settings) error {
	s.Select = cmp.Or(s.Select, byLoss)
	if err := checkSelectable(c, s.Select, byLoss); err != nil {
		return err
	}
	switch {
	case len(s.ClassWeights) > 0:
		return errors.New("expected no class weights: task fill-mask has no classes")
	case s.TokenReplacement > 0:
		return fmt.Errorf("token-replacement %v: expected 0, because the model would learn to predict tokens that are "+
			"not in the row", s.TokenReplacement)
	}
	return nil
}

func (fillMask) weight(*Settings, seq.Example) float64 { return 1 }

func (fillMask) measure(c *config.Config, _ *Settings) measurement {
	return &tokenMeasurement{config: c}
}

// tokenMeasurement accumulates the mean loss of the masked tokens of a split.
type tokenMeasurement struct {
	config *config.Config
	loss   float64
	tokens int
}

func (m *tokenMeasurement) add(loss []float32, e seq.Example) {
	m.loss += float64(loss[0])
	m.tokens += model.LossDivisor(m.config, []seq.Example{e},
		model.Drawing{Mode: model.LossMode, Seed: m.config.SamplerSeed})
}

func (m *tokenMeasurement) report(r *EvaluationReport) {
	r.Loss = m.loss / float64(m.tokens)
	r.BitsPerToken = new(r.Loss / math.Ln2)
}
