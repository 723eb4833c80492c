package config

import "fmt"

// CheckIDs returns an error for the first of the tokens that the model does not accept. The parameter at
// is the index of tokens[0] in its sequence. CheckIDs does not limit the length of the sequence.
func (c *Config) CheckIDs(tokens []int32, at int) error {
	i := c.firstRefused(tokens)
	switch {
	case i < 0:
		return nil
	case c.PadTokenID != nil && tokens[i] == *c.PadTokenID:
		return fmt.Errorf("token %d at index %d is the padding id, which no input may contain", tokens[i], at+i)
	}
	return fmt.Errorf("token %d at index %d is outside the vocabulary of %d", tokens[i], at+i, c.VocabSize)
}

// firstRefused returns the index of the first token that is the padding id or outside the
// vocabulary, or -1. A server calls it for each edit of a long document.
func (c *Config) firstRefused(tokens []int32) int {
	padding := int32(-1)
	if c.PadTokenID != nil {
		padding = *c.PadTokenID
	}
	for at := 0; at < len(tokens); at += checkedTogether {
		block := tokens[at:min(at+checkedTogether, len(tokens))]
		if c.areInside(block, padding) {
			continue
		}
		for i, t := range block {
			if uint32(t) >= uint32(c.VocabSize) || t == padding {
				return at + i
			}
		}
	}
	return -1
}

// checkedTogether is the number of tokens that firstRefused passes to areInside.
const checkedTogether = 1024

// areInside reports whether all tokens are inside the vocabulary and differ from the padding id. It
// supports only a padding id that is the first or last id, or -1 for none, and returns false for any
// other. Eight tokens share a branch.
func (c *Config) areInside(tokens []int32, padding int32) bool {
	first, last := uint32(0), int64(c.VocabSize)-1
	switch int64(padding) {
	case 0:
		first, last = 1, last-1
	case last:
		last--
	case -1:
	default:
		return false
	}
	for ; len(tokens) >= 8; tokens = tokens[8:] {
		x := (*[8]int32)(tokens)
		a := left(x[0], first, last) | left(x[1], first, last)
		b := left(x[2], first, last) | left(x[3], first, last)
		c := left(x[4], first, last) | left(x[5], first, last)
		d := left(x[6], first, last) | left(x[7], first, last)
		if a|b|c|d < 0 {
			return false
		}
	}
	for _, t := range tokens {
		if left(t, first, last) < 0 {
			return false
		}
	}
	return true
}

// left returns last − (t − first), which is negative for a token outside the ids first … first + last.
func left(t int32, first uint32, last int64) int64 { return last - int64(uint32(t)-first) }
