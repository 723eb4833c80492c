package train

import (
	"cmp"
	"fmt"

	"github.com/sftseq/sftseq/internal/metrics"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft/config"
)

// multiLabel is the training task of models that predict any number of labels for a sequence.
type multiLabel struct{}

func (multiLabel) settings(c *config.Config, s *Settings) error {
	s.Select = cmp.Or(s.Select, byLoss)
	if err := checkSelectable(c, s.Select, byLoss, byMacroF1, byMAP, ScaledLoss); err != nil {
		return err
	}
	if n := len(s.ClassWeights); n > 0 && n != c.NumLabels {
		return fmt.Errorf("found %d label weights, expected one for each of the %d labels", n, c.NumLabels)
	}
	return nil
}

func (multiLabel) weight(*Settings, seq.Example) float64 { return 1 } // the kernel multiplies by the weights

func (multiLabel) measure(c *config.Config, s *Settings) measurement {
	return &labelsMeasurement{config: c, tally: metrics.NewMultiLabel(c.NumLabels), sample: newLogitSample(s)}
}

// labelsMeasurement accumulates the metrics of a multi-label model on a split, and chooses the best
// thresholds for the split.
type labelsMeasurement struct {
	config *config.Config
	tally  *metrics.MultiLabel
	sample *metrics.LogitSample
}

func (m *labelsMeasurement) temperature() float64 { return m.sample.Temperature() }

// add adds a row. For the temperature, each label is a binary classification whose logits are 0 and
// the label's logit.
func (m *labelsMeasurement) add(logits []float32, e seq.Example) {
	m.tally.Add(logits, e.Labels)
	if m.sample == nil {
		return
	}
	for i, y := range m.config.LossTargets(e) {
		m.sample.Add(int(y), []float32{0, logits[i]})
	}
}

func (m *labelsMeasurement) report(r *EvaluationReport) {
	r.Thresholds = m.tally.Thresholds()
	x := m.tally.Report(r.Thresholds)
	r.Loss, r.MicroF1, r.MacroF1, r.MAP = x.Loss, x.MicroF1, x.MacroF1, x.MeanAveragePrecision
	r.setScaledLoss(m.sample)
}

// checkLabelCounts returns an error if a multi-label validation split does not define the metric that
// selects the model. Macro-F1 needs a row with a label; mean average precision also needs a row
// without this label.
func checkLabelCounts(s *Settings, val *seq.File) error {
	if val.Spec().Task != config.MultiLabel {
		return nil
	}
	seen := map[int32]int{}
	for row := range val.Len() {
		e, err := val.Example(row)
		if err != nil {
			return err
		}
		for _, label := range e.Labels {
			seen[label]++
		}
	}
	for _, rows := range seen {
		if s.Select == byMacroF1 || rows < val.Len() {
			return nil
		}
	}
	if s.Select == byMacroF1 {
		return fmt.Errorf("select: %s needs a validation row with a label, found none in %d rows", s.Select, val.Len())
	}
	return fmt.Errorf("select: %s needs a label that some, but not all, of the %d validation rows have, found none",
		s.Select, val.Len())
}
