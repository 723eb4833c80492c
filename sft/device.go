package sft

import (
	"github.com/sftseq/sftseq/sft/internal/model"
)

// Device runs models. Package device opens devices; other implementations are refused.
type Device interface {
	// Name returns a description for users.
	Name() string
	// Kernels returns the name of the instruction set or of the device's kernels. Results are
	// bit-identical for equal names.
	Kernels() string
	// Slots returns the best number of concurrent passes.
	Slots() int
	// Close frees the device. Its users, such as a [Scorer], must not be used afterwards.
	Close() error
}

// PlannedBytes returns the device memory in bytes for a batch of equally long sequences and this
// number of slots: weights and activations, and for training also gradients and moments.
func PlannedBytes(c *Config, training bool, batch, length, slots int) (int64, error) {
	return model.PlannedBytes(c, training, batch, length, slots)
}

// PlannedTokens returns the number of tokens for which memory is planned: the tokens of a sequence, or
// more for a sequence with many edges per token.
func PlannedTokens(tokens, edges int) int { return model.PlannedTokens(tokens, edges) }

// PassBytes returns the memory in bytes of the largest pass of a model for this number of tokens and
// examples, without the weights: activations and inputs, and with training also the backward pass.
func PassBytes(c *Config, training bool, tokens, examples int) (int64, error) {
	return model.PassBytes(c, training, tokens, examples)
}

// Program is the recorded pass of a model: kernel launches over tensors in an arena. Devices of
// package device run programs.
type Program interface {
	// Bytes returns the memory in bytes of one run: activations and inputs, without the weights.
	Bytes() int64
}

// Record records the forward pass of a model without chunks for this number of tokens and sequences, and with
// training also the backward pass.
func Record(c *Config, training bool, tokens, sequences int) (Program, error) {
	p, err := model.RecordProgram(c, training, tokens, sequences)
	if err != nil {
		return nil, err
	}
	return p, nil
}
