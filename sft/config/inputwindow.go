package config

import (
	"fmt"

	"github.com/sftseq/sftseq/seq"
)

// LengthError is the error for a sequence that [Config.Truncate] would shorten.
type LengthError struct {
	Tokens, Max int
	limit       string // the part of the model that accepts at most Max tokens
}

func (e *LengthError) Error() string {
	return fmt.Sprintf("the sequence has %d tokens, but %s accepts at most %d", e.Tokens, e.limit, e.Max)
}

// Window returns the tokens of a sequence that [Config.ReadWindow] selects. It returns an error if the
// sequence is too long for an input window with the policy error, or if [Config.CheckTokens] refuses
// the result.
func (c *Config) Window(tokens []int32) ([]int32, error) {
	if err := c.checkWindow(len(tokens)); err != nil {
		return nil, err
	}
	tokens = seq.Cut(c.ReadWindow(), tokens)
	return tokens, c.CheckTokens(tokens)
}

// checkWindow returns an error if a sequence of n tokens exceeds the input window and must not be
// truncated.
func (c *Config) checkWindow(n int) error {
	if w := c.InputWindow; w != nil && n > w.Length && w.Policy != "head" {
		return &LengthError{n, w.Length, "the model's input window"}
	}
	return nil
}

// ReadWindow returns the window that truncates longer sequences, or the zero value if the model
// does not truncate.
func (c *Config) ReadWindow() seq.Window {
	if c.TruncatesAt() == 0 {
		return seq.Window{}
	}
	return seq.Window{Length: c.InputWindow.Length, Tail: c.InputWindowTail}
}

// TruncatesAt returns the number of tokens that the model reads of a longer sequence, or 0 if the
// model does not truncate.
func (c *Config) TruncatesAt() int {
	if w := c.InputWindow; w != nil && w.Policy == "head" {
		return w.Length
	}
	return 0
}

// Truncate sets an input window with the policy head. Instead of refusing a sequence that is too
// long, the model then reads its head, and its tail if InputWindowTail is not 0.
func (c *Config) Truncate() {
	w := InputWindow{Length: c.MaxLength, Policy: "head"}
	if c.InputWindow != nil {
		w.Length = min(w.Length, c.InputWindow.Length)
	}
	c.InputWindow, c.InputWindowTail = &w, min(c.InputWindowTail, w.Length)
}

// SetReadWindow sets the input window that truncates longer sequences. The zero value removes it.
func (c *Config) SetReadWindow(w seq.Window) {
	c.InputWindow, c.InputWindowTail = nil, w.Tail
	if w.Length != 0 {
		c.InputWindow = &InputWindow{Length: w.Length, Policy: "head"}
	}
}

// validateWindow returns an error for an invalid input window. The tail
// must be 0 for models that make predictions per token, because the tokens between head and tail would
// have none, and for graphs, because their nodes have no order.
func (c *Config) validateWindow() error {
	w, tail := c.InputWindow, c.InputWindowTail
	switch {
	case w == nil && tail != 0:
		return bad("input_window_tail", tail, "0 without input_window")
	case w == nil:
		return nil
	case w.Length < 1:
		return bad("input_window.length", w.Length, "at least 1")
	case w.Policy == "error" && tail != 0:
		return bad("input_window_tail", tail, `0 if input_window.policy is "error"`)
	case tail < 0 || tail > w.Length:
		return bad("input_window_tail", tail, fmt.Sprintf("0 to %d, the length of the input window", w.Length))
	case tail > 0 && (c.PerToken() || c.MasksTokens()):
		return bad("input_window_tail", tail, fmt.Sprintf("0, because task %s makes predictions per token", c.Task))
	case tail > 0 && c.Edged():
		return bad("input_window_tail", tail, "0, because tokens with edges have no order")
	}
	return oneOf("input_window.policy", w.Policy, "error", "head")
}
