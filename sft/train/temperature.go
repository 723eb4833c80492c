package train

import (
	"math"

	"github.com/sftseq/sftseq/internal/metrics"
)

// calibrating is a measurement that fits the temperature of the logits that it has seen.
type calibrating interface{ temperature() float64 }

// newLogitSample is where a measurement keeps logits for the temperature, nil if none is fitted.
func newLogitSample(s *Settings) *metrics.LogitSample {
	if !s.TemperatureScaling {
		return nil
	}
	return &metrics.LogitSample{}
}

// calibrate takes the temperature of the kept model. The thresholds are of probabilities, and part
// the same rows afterwards; the span penalty is of logits, and gives the same tags.
func (r *EvaluationReport) calibrate(temperature float64) {
	r.Temperature = temperature
	for i, p := range r.Thresholds {
		r.Thresholds[i] = 1 / (1 + math.Pow((1-p)/p, 1/temperature))
	}
	if r.SpanDecoding != nil {
		r.SpanDecoding.SpanPenalty /= temperature
	}
}
