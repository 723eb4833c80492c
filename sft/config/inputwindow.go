package config

import (
	"fmt"
)

// Window returns the part of a sequence that the model reads: all of it, or,
// where the configuration's input window says so, its head. A sequence that is
// too long and may not be cut is an error, and so are tokens that the model
// cannot read.
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

// TruncatesAt is the number of tokens that the model reads of a longer sequence, 0 if
// it reads all or none of it.
func (c *Config) TruncatesAt() int {
	if w := c.InputWindow; w != nil && w.Policy == "head" {
		return w.Length
	}
	return 0
}

// Truncate makes the model read the head of a sequence that is too long for it
// instead of refusing it.
func (c *Config) Truncate() {
	w := InputWindow{Length: c.MaxLength, Policy: "head"}
	if c.InputWindow != nil {
		w.Length = min(w.Length, c.InputWindow.Length)
	}
	c.InputWindow = &w
}
