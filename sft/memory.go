package sft

import "github.com/sftseq/sftseq/sft/internal/model"

// PlannedBytes is the device memory that a batch of sequences of one length
// takes in a number of slots: weights and activations, in training gradients and
// moments too.
func PlannedBytes(c *Config, training bool, batch, length, slots int) (int64, error) {
	return model.PlannedBytes(c, training, batch, length, slots)
}

// PlannedTokens is the length to plan the memory of a sequence with these tokens and edges by.
func PlannedTokens(tokens, edges int) int { return model.PlannedTokens(tokens, edges) }
