package config

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

// checkedTogether is the number of tokens between two branches of a check.
const checkedTogether = 1024

// areInside reports whether all tokens are inside the vocabulary without its padding id, if this id
// is the first, the last or none. It returns false for any other. The negative differences to the
// last accepted id are collected without a branch, four at a time.
func (c *Config) areInside(tokens []int32, padding int32) bool {
	first, last := int64(0), int64(c.VocabSize)-1
	switch int64(padding) {
	case first:
		first++
	case last:
		last--
	case -1:
	default:
		return false
	}
	var negative int64
	for ; len(tokens) >= 4; tokens = tokens[4:] {
		x := (*[4]int32)(tokens)
		negative |= outside(x[0], first, last) | outside(x[1], first, last) |
			outside(x[2], first, last) | outside(x[3], first, last)
	}
	for _, t := range tokens {
		negative |= outside(t, first, last)
	}
	return negative >= 0
}

// outside returns a negative number if t < first or t > last.
func outside(t int32, first, last int64) int64 { return (int64(t) - first) | (last - int64(t)) }
