package config

import (
	"fmt"

	"github.com/sftseq/sftseq/internal/metrics"
)

// A model with [Config.Temperature] T predicts the probabilities softmax(z/T), or σ(z/T) of each of
// several labels, z being the output of its head. [sft.Output.Logits] are z/T, so that every probability
// that is computed from them is calibrated. The predicted class is the same for every T.
//
// Source: Guo, Pleiss, Sun, Weinberger, "On Calibration of Modern Neural Networks", ICML 2017.

// LogitDivisor is what the output of the head is divided by: the temperature of a model that predicts
// probabilities, otherwise 1.
func (c *Config) LogitDivisor() float64 {
	if c.Temperature != 0 && c.task().hasTemperature() {
		return c.Temperature
	}
	return 1
}

// validateTemperature reports a temperature that no model can have.
func (c *Config) validateTemperature() error {
	if t := c.Temperature; t != 0 && !(t >= metrics.MinTemperature && t <= metrics.MaxTemperature) {
		return &Error{"temperature", fmt.Sprint(t),
			fmt.Sprintf("%g to %g", metrics.MinTemperature, metrics.MaxTemperature)}
	}
	return nil
}
