package config

import (
	"fmt"

	"github.com/sftseq/sftseq/internal/metrics"
)

// A model with [Config.Temperature] T predicts the probabilities softmax(z/T), or σ(z/T) of each
// label for multi-label, where z are the outputs of its head. [sft.Output.Logits] are z/T, so that
// probabilities computed from them are calibrated. The predicted class does not depend on T.
//
// Source: Guo, Pleiss, Sun, Weinberger, "On Calibration of Modern Neural Networks", ICML 2017.

// LogitDivisor returns the divisor of the logits: the temperature of a model that predicts
// probabilities, otherwise 1.
func (c *Config) LogitDivisor() float64 {
	if c.Temperature != 0 && c.Kind() != Numbers && c.Kind() != MaskedTokens {
		return c.Temperature
	}
	return 1
}

// CalibratedLogits returns [Config.Logits] divided by [Config.LogitDivisor]. It may overwrite the
// outputs of the head.
func (c *Config) CalibratedLogits(head []float32) []float32 {
	logits := c.Logits(head)
	if d := float32(c.LogitDivisor()); d != 1 {
		for i := range logits {
			logits[i] /= d
		}
	}
	return logits
}

// validateTemperature returns an error for an invalid temperature.
func (c *Config) validateTemperature() error {
	if t := c.Temperature; t != 0 && !(t >= metrics.MinTemperature && t <= metrics.MaxTemperature) {
		return &Error{"temperature", fmt.Sprint(t),
			fmt.Sprintf("%g to %g", metrics.MinTemperature, metrics.MaxTemperature)}
	}
	return nil
}
