package sft

import (
	"github.com/sftseq/sftseq/sft/internal/model"
)

// Program is the recorded pass of a model: kernel launches over tensors in an arena. Devices of
// package device run programs.
type Program interface {
	// Bytes returns the memory of one run: activations and inputs, without the weights.
	Bytes() int64
}

// Record records the forward pass of a model for this number of tokens and sequences, and with
// training also the backward pass.
func Record(c *Config, training bool, tokens, sequences int) (Program, error) {
	p, err := model.RecordProgram(c, training, tokens, sequences)
	if err != nil {
		return nil, err
	}
	return p, nil
}
