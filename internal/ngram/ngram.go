// Package ngram hashes the n-grams of rows to slots and numbers the slots that occur in a training
// split. It follows Weinberger et al., Feature Hashing for Large Scale Multitask Learning, ICML 2009.
//
// A row is a sequence of units, or two such sequences, the sides of a pair. The units are
//
//	words   maximal runs of letters, digits and marks (Unicode L, Nd, M) in lower case, and every
//	        other character except white space
//	bytes   single bytes; if n-grams of words are counted as well, ASCII letters are in lower case
//	        (words and bytes read ids that are bytes plus 1; the id 0 is hashed as an empty text)
//	tokens  token ids of any tokenizer, as 4 bytes, little-endian
//
// An n-gram is n consecutive units on one side of a row. Let H(u) be the XXH3-64 of the bytes of
// unit u with the seed 0. The hash of n units on a side, 0 or 1, is
//
//	x ← 2n + side;  x ← x·0x9E3779B97F4A7C15 + H(u) for each unit in order;  h = mix(x)
//
// modulo 2⁶⁴, where mix is the finaliser of MurmurHash3:
//
//	x ^= x≫33;  x *= 0xFF51AFD7ED558CCD;  x ^= x≫33;  x *= 0xC4CEB9FE1A85EC53;  x ^= x≫33
//
// N-grams of bytes can be combined with n-grams of words. The hash of n words then begins with
// x ← 2(n + 8) + side.
//
// The slot of an n-gram is the high log₂(slots) bits of h. The low 24 bits are its cell in the
// sketch. N-grams whose cell counts fewer than MinCount rows are dropped. Test vectors are in
// testdata/hashes.json.
package ngram

import (
	"fmt"
	"math/bits"
)

// Units of n-grams.
const (
	Words  = "words"  // words of text stored as bytes
	Bytes  = "bytes"  // single bytes of text stored as bytes
	Tokens = "tokens" // ids of any tokenizer
)

// Limits of [Options].
const (
	MinSlots = 1 << 10
	MaxSlots = 1 << 24
	MaxN     = 8
	MaxCount = 255
)

// Options choose the n-grams of rows. They are a part of config.json.
type Options struct {
	Units    string `json:"units"`     // Words, Bytes or Tokens
	MinN     int    `json:"min_n"`     // minimum number of units of an n-gram
	MaxN     int    `json:"max_n"`     // maximum number of units of an n-gram, up to 8
	Slots    int    `json:"slots"`     // a power of two from 2¹⁰ to 2²⁴
	MinCount int    `json:"min_count"` // approximate minimum number of training rows with an n-gram; 1 keeps all
	// MaxWords adds n-grams of 1 to MaxWords words to n-grams of bytes; 0 adds none.
	MaxWords int `json:"max_words,omitempty"`
}

// Validate returns an error for the first key with an unsupported value.
func (o *Options) Validate() error {
	switch {
	case o.Units != Words && o.Units != Bytes && o.Units != Tokens:
		return fmt.Errorf("units: expected words, bytes or tokens, found %q", o.Units)
	case o.MinN < 1 || o.MinN > MaxN:
		return fmt.Errorf("min_n: expected 1 to %d, found %d", MaxN, o.MinN)
	case o.MaxN < o.MinN || o.MaxN > MaxN:
		return fmt.Errorf("max_n: expected %d (min_n) to %d, found %d", o.MinN, MaxN, o.MaxN)
	case o.Slots < MinSlots || o.Slots > MaxSlots || o.Slots&(o.Slots-1) != 0:
		return fmt.Errorf("slots: expected a power of two from %d to %d, found %d", MinSlots, MaxSlots, o.Slots)
	case o.MinCount < 1 || o.MinCount > MaxCount:
		return fmt.Errorf("min_count: expected 1 to %d, found %d", MaxCount, o.MinCount)
	case o.MaxWords < 0 || o.MaxWords > MaxN:
		return fmt.Errorf("max_words: expected 0 to %d, found %d", MaxN, o.MaxWords)
	case o.MaxWords > 0 && o.Units != Bytes:
		return fmt.Errorf("max_words: expected 0 for the units %s, found %d", o.Units, o.MaxWords)
	}
	return nil
}

// Orders returns the number of n-gram lengths: lengths in units plus lengths in words.
func (o *Options) Orders() int { return o.MaxN - o.MinN + 1 + o.MaxWords }

// slotShift returns the right shift that turns a hash into its slot.
func (o *Options) slotShift() int { return 64 - bits.TrailingZeros(uint(o.Slots)) }

// Constants of the hash.
const (
	Multiplier = 0x9E3779B97F4A7C15 // 2⁶⁴ divided by the golden ratio
	MixShift   = 33
	MixFactor1 = 0xFF51AFD7ED558CCD
	MixFactor2 = 0xC4CEB9FE1A85EC53
)

// mix is the finaliser of MurmurHash3.
func mix(x uint64) uint64 {
	x ^= x >> MixShift
	x *= MixFactor1
	x ^= x >> MixShift
	x *= MixFactor2
	return x ^ x>>MixShift
}

// Begin returns the contribution of the initial term to the hash of n units on side 0. For n-grams of words
// combined with bytes, offset is MaxN; otherwise it is 0.
func Begin(n, offset int) uint64 { return begin(n, offset, 0) }

// begin returns (2(n + offset) + side)·Multiplierⁿ, the contribution of the initial term to a hash of n
// units. It is added last, so all n-grams that begin at the same unit share one sum over their units.
func begin(n, offset, side int) uint64 {
	x := uint64(2*(n+offset) + side)
	for range n {
		x *= Multiplier
	}
	return x
}
