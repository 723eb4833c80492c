package config

import (
	"fmt"
)

// Window returns the part of a sequence that the model reads: the whole sequence, or its head if
// the input window has the policy head. It returns an error if the sequence is too long otherwise,
// or if the model does not accept a token.
func (c *Config) Window(tokens []int32) ([]int32, error) {
	if w := c.InputWindow; w != nil && len(tokens) > w.Length {
		if w.Policy != "head" {
			return nil, fmt.Errorf("the sequence has %d tokens, the model's input window accepts at most %d",
				len(tokens), w.Length)
		}
		tokens = tokens[:w.Length]
	}
	return tokens, c.CheckTokens(tokens)
}

// TruncatesAt returns the number of tokens that the model reads of a longer sequence, or 0 if the
// model does not truncate.
func (c *Config) TruncatesAt() int {
	if w := c.InputWindow; w != nil && w.Policy == "head" {
		return w.Length
	}
	return 0
}

// Truncate sets an input window with the policy head: the model then reads the head of a sequence
// that is too long, instead of refusing it.
func (c *Config) Truncate() {
	w := InputWindow{Length: c.MaxLength, Policy: "head"}
	if c.InputWindow != nil {
		w.Length = min(w.Length, c.InputWindow.Length)
	}
	c.InputWindow = &w
}
