// Package chunk cuts documents into chunks.
//
// A cut depends only on the tokens since the previous cut. An edit therefore changes neither the chunks
// before the edited chunk, nor the chunks after the first later cut that both versions share.
package chunk

import (
	"fmt"
	"math/bits"

	"github.com/sftseq/sftseq/internal/philox"
)

// Rule is a rule for the positions of cuts.
type Rule string

const (
	// Fixed cuts after every Average tokens. An insertion moves all later cuts.
	Fixed Rule = "fixed"
	// Content cuts where a hash of the preceding tokens has leading zeros. With A the average and
	// gear[v] 64 random bits of token v, the hash h is 0 at the start of a chunk, and each token
	// changes it to
	//
	//	h ← 2h + gear[token]  (mod 2⁶⁴)
	//
	// The chunk ends when it has 2A tokens, or when it has at least A/4 tokens and the leading
	// log₂ A bits of h are zero. Only the last 64 tokens affect h. If tokens are random and
	// A is at least 64, chunks have about 1.07·A tokens on average. An insertion changes about 1.5
	// chunks if A is at least 256, and more if A is so small that many chunks begin within the 64
	// tokens before a cut.
	//
	// Source: gear hashing is from Xia et al., "Ddelta: A deduplication-inspired fast delta
	// compression approach", Performance Evaluation 79, 2014.
	Content Rule = "content"
)

// Bounds of the average length of chunks in tokens.
const (
	MinAverage = 16
	MaxAverage = 1 << 20
)

// Config selects a rule and the average length of chunks in tokens.
type Config struct {
	Rule    Rule
	Average int // for Content a power of two
}

// Validate returns an error if the rule is unknown or the average is invalid.
func (c Config) Validate() error {
	switch c.Rule {
	case Fixed, Content:
	default:
		return fmt.Errorf("rule: expected content or fixed, found %q", c.Rule)
	}
	if c.Average < MinAverage || c.Average > MaxAverage {
		return fmt.Errorf("average: expected %d to %d tokens, found %d", MinAverage, MaxAverage, c.Average)
	}
	if c.Rule == Content && c.Average&(c.Average-1) != 0 {
		return fmt.Errorf("average: expected a power of two with the rule content, found %d", c.Average)
	}
	return nil
}

// MinLength returns the minimum number of tokens in a chunk that is not the last of a document.
func (c Config) MinLength() int {
	if c.Rule == Fixed {
		return c.Average
	}
	return c.Average / 4
}

// MaxLength returns the maximum number of tokens in a chunk.
func (c Config) MaxLength() int {
	if c.Rule == Fixed {
		return c.Average
	}
	return 2 * c.Average
}

// Cutter cuts one document, token by token.
type Cutter struct {
	gear              []uint64 // nil with the rule Fixed
	minLength, length int
	maxLength         int
	shift             int // 64 − log₂ A
	hash              uint64
}

// NewCutter returns a cutter for tokens below vocab. It panics if c is not valid.
func NewCutter(c Config, vocab int) *Cutter {
	if err := c.Validate(); err != nil {
		panic(err)
	}
	k := &Cutter{maxLength: c.MaxLength()}
	if c.Rule == Content {
		k.gear = make([]uint64, vocab)
		for v := range k.gear {
			k.gear[v] = gear(uint32(v))
		}
		k.minLength, k.shift = c.MinLength(), 64-bits.TrailingZeros(uint(c.Average))
	}
	return k
}

// gear returns the 64 random bits of a token: the first two words that Philox generates for the
// token with seed 0. The first word is the more significant half.
func gear(token uint32) uint64 {
	w := philox.Words(0, philox.Counter(token, 0, 0, philox.StreamGear, 0, 0))
	return uint64(w[0])<<32 | uint64(w[1])
}

// Reset starts a new document.
func (k *Cutter) Reset() { k.length, k.hash = 0, 0 }

// Next returns the number of leading tokens that belong to the current chunk, and whether the chunk
// ends after them. If it does not end, the chunk continues with the tokens of the next call.
func (k *Cutter) Next(tokens []int32) (n int, ends bool) {
	rest := min(len(tokens), k.maxLength-k.length)
	if k.gear == nil {
		n = rest
	}
	length, hash := k.length, k.hash
	for ; n < rest && !ends; n++ {
		hash = hash<<1 + k.gear[tokens[n]]
		ends = length+n+1 >= k.minLength && hash>>k.shift == 0
	}
	k.length, k.hash = length+n, hash
	if ends = ends || k.length == k.maxLength; ends {
		k.Reset()
	}
	return n, ends
}

// Lengths returns the lengths of the chunks of a whole document. An empty document has no chunks.
func (k *Cutter) Lengths(tokens []int32) []int {
	k.Reset()
	var out []int
	for len(tokens) > 0 {
		n, _ := k.Next(tokens)
		out = append(out, n)
		tokens = tokens[n:]
	}
	return out
}
