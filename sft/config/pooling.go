package config

import (
	"fmt"
)

// Values of [Config.Pooling].
const (
	SoftmaxPooling = "softmax" // mean of the tokens, weighted by the softmax of learned scores
	MaxPooling     = "max"     // maximum of each channel over all tokens or a sample
)

// Pools reports whether the model pools the rows of tokens into one row per sequence. Otherwise the head
// reads the rows of tokens.
func (c *Config) Pools() bool {
	o, known := tasks[c.Task]
	return !known || o.kind() != Tags && o.kind() != MaskedTokens
}

// validatePooling returns an error for an unknown pooling, a pooling that the task does not use, or an
// invalid number of samples.
func (c *Config) validatePooling() error {
	switch {
	case c.Pooling != "" && c.Pooling != SoftmaxPooling && c.Pooling != MaxPooling:
		return &Error{"pooling", fmt.Sprintf("%q", c.Pooling), SoftmaxPooling + ", " + MaxPooling}
	case c.Pooling != "" && !c.Pools():
		return &Error{"pooling", fmt.Sprintf("%q", c.Pooling),
			"none, because task " + c.Task + " does not pool tokens"}
	case c.Pooling != MaxPooling && c.PoolingSamples != 0:
		return &Error{"pooling_samples", fmt.Sprint(c.PoolingSamples), "0: only max pooling samples tokens"}
	case c.PoolingSamples < 0 || c.PoolingSamples > maxSize:
		return &Error{"pooling_samples", fmt.Sprint(c.PoolingSamples),
			fmt.Sprintf("0 to %d (0 means all tokens)", maxSize)}
	}
	return nil
}
