package config

import (
	"cmp"
	"fmt"

	"github.com/sftseq/sftseq/seq"
)

// CheckExample returns an error if the model does not accept an example.
func (c *Config) CheckExample(e seq.Example) error {
	if c.Sequences() == 1 {
		if e.B != nil {
			return fmt.Errorf("found a pair of sequences, but the model reads one sequence")
		}
		if c.HasFeatures() {
			return cmp.Or(c.CheckFeatures(e.Features), c.CheckEdges(e.Edges, len(e.Features)))
		}
		if e.Features != nil {
			return fmt.Errorf("found features, but the model reads tokens")
		}
		if e.Edges != nil {
			return c.CheckEdges(e.Edges, len(e.A))
		}
		return c.CheckTokens(e.A)
	}
	if err := c.CheckTokens(e.A); err != nil {
		return fmt.Errorf("first sequence: %w", err)
	}
	if err := c.CheckTokens(e.B); err != nil {
		return fmt.Errorf("second sequence: %w", err)
	}
	return nil
}

// CheckLabelled returns an error if the model cannot train on an example.
func (c *Config) CheckLabelled(e seq.Example) error {
	if err := c.CheckExample(e); err != nil {
		return err
	}
	return c.task().check(c, e)
}
