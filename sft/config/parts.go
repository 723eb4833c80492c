package config

import (
	"fmt"
	"slices"
)

// CheckIDs returns an error for the first token of a part of a sequence that the model does not accept. at is the
// index of the part's first token in the sequence, whose length is not limited.
func (c *Config) CheckIDs(tokens []int32, at int) error {
	i := slices.IndexFunc(tokens, func(t int32) bool { return uint32(t) >= uint32(c.VocabSize) })
	if i >= 0 {
		return fmt.Errorf("token %d at index %d is outside the vocabulary of %d", tokens[i], at+i, c.VocabSize)
	}
	if c.PadTokenID == nil {
		return nil
	}
	if i = slices.Index(tokens, *c.PadTokenID); i >= 0 {
		return fmt.Errorf("token %d at index %d is the padding id, which no input may contain", tokens[i], at+i)
	}
	return nil
}
