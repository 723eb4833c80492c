package sft

import "github.com/sftseq/sftseq/sft/internal/model"

// PlannedBytes returns the device memory for a batch of sequences of one length in this number of
// slots: weights and activations, and for training also gradients and moments.
func PlannedBytes(c *Config, training bool, batch, length, slots int) (int64, error) {
	return model.PlannedBytes(c, training, batch, length, slots)
}

// PlannedTokens returns the number of tokens for which the memory of a sequence with these tokens
// and edges is planned.
func PlannedTokens(tokens, edges int) int { return model.PlannedTokens(tokens, edges) }
