package config

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/sftseq/sftseq/internal/ngram"
)

// NGrams defines n-grams of tokens. A model adds the hashed embeddings of n-grams to the embeddings of
// tokens. Let E_t be the embedding of token t, and F_g the embedding of n-gram g. If n n-grams with
// an embedding end at t, the first layer reads
//
//	(E_t + Σ_g F_g) / √(1 + n)
//
// N-grams with the same slot, a part of their hash, share an embedding.
type NGrams struct {
	Units string `json:"units"` // bytes (for text stored as bytes) or tokens
	MinN  int    `json:"min_n"` // minimum length in units
	MaxN  int    `json:"max_n"` // maximum length in units, at most 8
	Slots int    `json:"slots"` // a power of two from 2¹⁰ to 2²⁴
	// MinCount is the approximate minimum number of training sequences with the n-gram; 1 keeps
	// all.
	MinCount int `json:"min_count"`
	MaxWords int `json:"max_words,omitempty"` // for bytes: also n-grams of up to MaxWords words
	// MaxFeatures is the maximum number of slots with an embedding; 0 means no limit. The slots with the
	// largest mutual information with the class of a training sequence are kept.
	MaxFeatures int `json:"max_features,omitempty"`
	// Bits is 8 if model.safetensors stores the embeddings as 8-bit integers, or 0 for floats.
	Bits int `json:"bits,omitempty"`
	// Dropout is the probability that training drops an n-gram of a token.
	Dropout float64 `json:"dropout,omitempty"`
}

func (n *NGrams) options() ngram.Options {
	return ngram.Options{Units: n.Units, MinN: n.MinN, MaxN: n.MaxN, Slots: n.Slots, MinCount: n.MinCount,
		MaxWords: n.MaxWords}
}

// maxNGramWords limits a table of embeddings to 4 GiB.
const maxNGramWords = 1 << 30

// ByteVocabulary is the size of the vocabulary of bytes: an id per byte, and the padding.
const ByteVocabulary = 257

func (c *Config) validateNGrams() error {
	n := c.NGrams
	if n == nil {
		return nil
	}
	o := n.options()
	if err := o.Validate(); err != nil {
		return fmt.Errorf("ngrams.%w", err)
	}
	switch {
	case n.MaxFeatures < 0 || n.MaxFeatures > n.Slots:
		return bad("ngrams.max_features", n.MaxFeatures, fmt.Sprintf("0 to %d, the number of slots", n.Slots))
	case n.MaxFeatures > 0 && (c.Kind() != Classes || c.Sequences() > 1):
		return bad("ngrams.max_features", n.MaxFeatures, "0 for task "+c.Task)
	case n.Bits != 0 && n.Bits != 8:
		return bad("ngrams.bits", n.Bits, "8, or 0 for floats")
	case n.Bits != 0 && c.HiddenSize%4 != 0:
		return bad("ngrams.bits", n.Bits, fmt.Sprintf("0, because hidden_size %d is not a multiple of 4", c.HiddenSize))
	case !(n.Dropout >= 0 && n.Dropout < 1):
		return bad("ngrams.dropout", n.Dropout, "0 ≤ rate < 1")
	case n.Units == ngram.Words:
		return bad("ngrams.units", n.Units, ngram.Bytes+" or "+ngram.Tokens)
	case c.HasFeatures():
		return bad("ngrams", n, "none, because tokens have features instead of ids")
	case n.Units == ngram.Bytes && c.VocabSize != ByteVocabulary:
		return bad("ngrams.units", n.Units, fmt.Sprintf("%s, because the vocabulary has %d tokens, not %d as for bytes",
			ngram.Tokens, c.VocabSize, ByteVocabulary))
	case n.Slots > maxNGramWords/c.HiddenSize:
		return bad("ngrams.slots", n.Slots, fmt.Sprintf("at most %d for hidden_size %d", maxNGramWords/c.HiddenSize,
			c.HiddenSize))
	case c.MasksTokens():
		return bad("ngrams", n, "none for task "+c.Task)
	}
	return nil
}

// Defaults of n-grams.
const (
	defaultMinCount     = 2 // drops n-grams that occur in only one sequence
	defaultNGramDropout = 0.1
)

// ParseNGrams parses the text that [NGrams.String] returns. MinCount and MaxFeatures may be omitted:
//
//	tokens:1-2:2^18       unigrams and bigrams of tokens, in 2¹⁸ slots
//	bytes:3-6+2:2^20:5    3 to 6 bytes, and up to 2 words, that occur in at least 5 training sequences
//	bytes:3-6:2^20:1:5000 the 5,000 slots with the largest mutual information with the class
//
// The default of MinCount is 2. The dropout is 0.1.
func ParseNGrams(text string) (*NGrams, error) {
	invalid := func() (*NGrams, error) {
		return nil, errors.New("expected UNITS:LENGTHS[+WORDS]:SLOTS[:MINCOUNT[:FEATURES]], for example " +
			"tokens:1-2:2^18 or bytes:3-6+2:2^20:2")
	}
	parts := strings.Split(text, ":")
	if len(parts) < 3 || len(parts) > 5 {
		return invalid()
	}
	n := &NGrams{Units: parts[0], MinCount: defaultMinCount, Dropout: defaultNGramDropout}
	lengths, words, hasWords := strings.Cut(parts[1], "+")
	minN, maxN, isRange := strings.Cut(lengths, "-")
	if !isRange {
		maxN = minN
	}
	slots, isPower := strings.CutPrefix(parts[2], "2^")
	parse := func(text string, to *int) bool {
		v, err := strconv.Atoi(text)
		*to = v
		return err == nil
	}
	ok := parse(minN, &n.MinN) && parse(maxN, &n.MaxN) && parse(slots, &n.Slots)
	if hasWords {
		ok = ok && parse(words, &n.MaxWords)
	}
	if len(parts) > 3 {
		ok = ok && parse(parts[3], &n.MinCount)
	}
	if len(parts) > 4 {
		ok = ok && parse(parts[4], &n.MaxFeatures) && n.MaxFeatures > 0
	}
	if !ok || isPower && (n.Slots < 0 || n.Slots > 40) {
		return invalid()
	}
	if isPower {
		n.Slots = 1 << n.Slots
	}
	o := n.options()
	if err := o.Validate(); err != nil {
		return nil, err
	}
	return n, nil
}

// String returns the text that [ParseNGrams] parses. It omits Bits and Dropout.
func (n *NGrams) String() string {
	lengths := fmt.Sprintf("%d-%d", n.MinN, n.MaxN)
	if n.MaxWords > 0 {
		lengths += fmt.Sprintf("+%d", n.MaxWords)
	}
	power := 0
	for 1<<power < n.Slots {
		power++
	}
	text := fmt.Sprintf("%s:%s:2^%d:%d", n.Units, lengths, power, n.MinCount)
	if n.MaxFeatures > 0 {
		text += fmt.Sprintf(":%d", n.MaxFeatures)
	}
	return text
}

// NGramTable holds the embeddings of a model's n-grams. A feature is a slot with an embedding;
// features are numbered by ascending slot. An n-gram has the feature of its slot if its cell, another
// part of its hash, is frequent enough in the training split.
type NGramTable struct {
	Kept    []int32   // a bit for each cell, set if the cell is frequent enough; nil if MinCount is 1
	Used    []int32   // a bit for each slot, set if the slot has an embedding
	Weights []float32 // [features, hidden_size]
	Squares []float32 // [features], state of the optimizer; nil without optimizer
}
