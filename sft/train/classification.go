package train

import (
	"fmt"

	"github.com/sftseq/sftseq/internal/metrics"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/sft/config"
)

// classification is the training task of models that predict one class for a sequence or a pair.
type classification struct{}

func (classification) settings(c *config.Config, s *Settings) error {
	if s.Select != "" {
		if err := checkSelectable(c, s.Select, byAccuracy, byLoss, byMacroF1, byAUC, OneStandardError,
			ScaledLoss); err != nil {
			return err
		}
	}
	if n := len(s.ClassWeights); n > 0 && n != c.NumLabels {
		return fmt.Errorf("found %d class weights, expected one for each of the %d classes", n, c.NumLabels)
	}
	if len(s.ClassWeights) > 0 && c.Loss() != config.CrossEntropy {
		return fmt.Errorf("expected no class weights: the loss of task %s is not cross-entropy", c.Task)
	}
	return nil
}

func (classification) weight(s *Settings, e seq.Example) float64 {
	if len(s.ClassWeights) == 0 {
		return 1
	}
	return s.ClassWeights[e.Label]
}

func (classification) isCorrect(logits []float32, e seq.Example) bool {
	return sft.Argmax(logits) == int(e.Label)
}

func (classification) measure(c *config.Config, s *Settings) measurement {
	return &classMeasurement{config: c, tally: metrics.NewValidation(c.NumLabels, s.Select == byAUC),
		sample: newLogitSample(s)}
}

type classMeasurement struct {
	config *config.Config
	tally  *metrics.Validation
	loss   float64
	rows   int
	sample *metrics.LogitSample
}

func (m *classMeasurement) temperature() float64 { return m.sample.Temperature() }

func (m *classMeasurement) add(head []float32, e seq.Example) {
	m.loss += m.config.LossOf(head, e)
	logits := m.config.Logits(head)
	m.tally.Add(int(e.Label), logits)
	m.sample.Add(int(e.Label), logits)
	m.rows++
}

func (m *classMeasurement) report(r *EvaluationReport) {
	r.Loss = m.loss / float64(m.rows*m.config.LossTerms())
	r.setScaledLoss(m.sample)
	r.Accuracy, r.MacroF1 = new(m.tally.Accuracy()), new(m.tally.MacroF1())
	if auc, ok := m.tally.AUC(); ok {
		r.AUC = &auc
	}
}
