package train

import (
	"math"

	"github.com/sftseq/sftseq/internal/metrics"
)

// calibrator is a measurement that fits the temperature of its logits.
type calibrator interface{ temperature() float64 }

// newLogitSample returns storage for the logits on which the temperature is fitted, or nil if the
// settings need no temperature.
func newLogitSample(s *Settings) *metrics.LogitSample {
	if !s.TemperatureScaling && s.Select != ScaledLoss {
		return nil
	}
	return &metrics.LogitSample{}
}

// setScaledLoss computes ScaledLoss if it selects the model.
func (r *EvaluationReport) setScaledLoss(s *metrics.LogitSample) {
	if r.SelectedBy == ScaledLoss {
		r.ScaledLoss = new(s.Loss(s.Temperature()))
	}
}

// calibrate sets the temperature of the model to be saved. It converts the thresholds, which are
// probabilities, and the span penalty, which is a difference of logits, so that the predictions do
// not change.
func (r *EvaluationReport) calibrate(temperature float64) {
	r.Temperature = temperature
	for i, p := range r.Thresholds {
		r.Thresholds[i] = 1 / (1 + math.Pow((1-p)/p, 1/temperature))
	}
	if r.SpanDecoding != nil {
		r.SpanDecoding.SpanPenalty /= temperature
	}
}
