package sft

import (
	"fmt"
	"math"

	"github.com/sftseq/sftseq/internal/metrics"
)

// A model with [Config.Temperature] T predicts the probabilities softmax(z/T), or σ(z/T) of each of
// several labels, z being the output of its head. [Output.Logits] are z/T, so that every probability
// that is computed from them is calibrated. The predicted class is the same for every T.
//
// Source: Guo, Pleiss, Sun, Weinberger, "On Calibration of Modern Neural Networks", ICML 2017.

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

// calibrated divides logits by the temperature.
func (c *Config) calibrated(logits []float32) []float32 {
	if d := float32(c.LogitDivisor()); d != 1 {
		for i := range logits {
			logits[i] /= d
		}
	}
	return logits
}

// LogitDivisor is what the output of the head is divided by: the temperature of a model that predicts
// probabilities, otherwise 1.
func (c *Config) LogitDivisor() float64 {
	if c.Temperature != 0 && c.objective().hasTemperature() {
		return c.Temperature
	}
	return 1
}

// validateTemperature reports a temperature that no model can have.
func (c *Config) validateTemperature() error {
	if t := c.Temperature; t != 0 && !(t >= metrics.MinTemperature && t <= metrics.MaxTemperature) {
		return &ConfigError{"temperature", fmt.Sprint(t),
			fmt.Sprintf("%g to %g", metrics.MinTemperature, metrics.MaxTemperature)}
	}
	return nil
}
