package sft

import (
	"slices"

	"sftseq/internal/philox"
	"sftseq/seq"
)

// deleteTokens returns the examples as training reads them: each token is left out with
// probability TokenDeletion, independently, and others move up. A row of which nothing
// would be left stays whole. Step by step a model reads other parts of a row, so that it
// learns few rows by heart less easily.
//
// Which tokens are left out is a function of (seed, row, step, position) alone, so that it
// depends neither on the batch nor on a resume. What is handed in is not changed.
//
// Source: Iyyer, Manjunatha, Boyd-Graber, Daumé III, "Deep Unordered Composition Rivals
// Syntactic Methods for Text Classification", ACL 2015 (word dropout).
func (s *Settings) deleteTokens(examples []seq.Example, step int) []seq.Example {
	if s.TokenDeletion == 0 {
		return examples
	}
	out := slices.Clone(examples)
	for i := range out {
		e := &out[i]
		e.A = s.kept(e.A, philox.Counter(0, 0, 0, philox.StreamDelete, e.Index, uint32(step)))
		e.B = s.kept(e.B, philox.Counter(0, 1, 0, philox.StreamDelete, e.Index, uint32(step)))
	}
	return out
}

// kept are the tokens of a sequence that are not left out. The counter is that of its
// first token.
func (s *Settings) kept(tokens []int32, counter [4]uint32) []int32 {
	if tokens == nil { // the second sequence of a row that is no pair
		return nil
	}
	rate := float32(s.TokenDeletion)
	out := make([]int32, 0, len(tokens))
	for i, token := range tokens {
		counter[0] = uint32(i)
		if philox.Uniform(philox.Words(s.Seed, counter)[0]) >= rate {
			out = append(out, token)
		}
	}
	if len(out) == 0 {
		return tokens
	}
	return out
}
