package train

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/sftseq/sftseq/internal/metrics"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft/config"
)

// regression is the training task of models that predict numbers.
type regression struct{}

func (regression) settings(c *config.Config, s *Settings) error {
	s.Select = cmp.Or(s.Select, byLoss)
	if err := checkSelectable(c, s.Select, byLoss, byR2, byMAE); err != nil {
		return err
	}
	if len(s.ClassWeights) > 0 {
		return fmt.Errorf("expected no class weights: task %s has no classes", c.Task)
	}
	return nil
}

func (regression) weight(*Settings, seq.Example) float64 { return 1 }

func (regression) measure(c *config.Config, _ *Settings) measurement {
	return &numberMeasurement{config: c, tally: metrics.NewRegression(c.NumLabels)}
}

// numberMeasurement accumulates the metrics of a regression on a split.
type numberMeasurement struct {
	config *config.Config
	tally  *metrics.Regression
	loss   float64
	terms  int
}

func (m *numberMeasurement) add(head []float32, e seq.Example) {
	m.loss += m.config.LossOf(head, e)
	m.terms += len(head)
	m.tally.Add(m.config.Predictions(m.config.Logits(head)), e.Numbers)
}

func (m *numberMeasurement) report(r *EvaluationReport) {
	r.Loss = m.loss / float64(m.terms)
	for i, n := range m.tally.Numbers() {
		x := NumberReport{Name: m.config.Numbers[i].Name, MAE: n.MAE, RMSE: n.RMSE}
		if n.Defined {
			x.R2 = new(n.R2)
		}
		r.Numbers = append(r.Numbers, x)
	}
	r.MAE = new(m.tally.MAE())
	if r2, ok := m.tally.R2(); ok {
		r.R2 = new(r2)
	}
}

// NumberReport holds the prediction errors of one number. MAE and RMSE have the unit of the number.
type NumberReport struct {
	Name string   `json:"name"`
	MAE  float64  `json:"mae"`          // mean absolute error
	RMSE float64  `json:"rmse"`         // root of the mean squared error
	R2   *float64 `json:"r2,omitempty"` // coefficient of determination; nil if all rows have the same number
}

// checkVariance returns an error if the numbers of a validation split do not define R².
func checkVariance(val *seq.File) error {
	first, err := val.Example(0)
	if err != nil {
		return err
	}
	for row := range val.Len() {
		e, err := val.Example(row)
		if err != nil {
			return err
		}
		if !slices.Equal(e.Numbers, first.Numbers) {
			return nil
		}
	}
	return fmt.Errorf("select: R² (%s) needs validation rows with different numbers, found %d rows with the numbers %v",
		byR2, val.Len(), first.Numbers)
}
