package sft

import "github.com/sftseq/sftseq/seq"

// CacheDocuments caches results for recent sequences, up to limit bytes: the exported rows of chunks,
// and the n-grams of linear models. A later call with an edited sequence then computes only the
// changed chunks and the document encoder, or the changed n-grams. A chunked model with predictions per token
// still computes the local layers of all chunks. The cache does not change any bit of the results.
// CacheDocuments reports whether any model is chunked. No other call of s may be running.
func (s *Scorer) CacheDocuments(limit int64) (chunked bool) {
	members := s.members()
	each := limit / int64(len(members))
	for _, member := range members {
		switch {
		case member.linear != nil:
			member.linear.cache(each)
		case member.Config().Chunks != nil:
			member.runner.CacheExports(each)
			chunked = true
		}
	}
	return chunked
}

// ChunkCounts returns the number of chunks that were computed since [Scorer.CacheDocuments], and the
// number of chunks whose exports were in the cache.
func (s *Scorer) ChunkCounts() (computed, reused int64) {
	for _, member := range s.members() {
		if member.runner != nil {
			c, r := member.runner.ChunkCounts()
			computed, reused = computed+c, reused+r
		}
	}
	return computed, reused
}

// ComputedTokens estimates the number of tokens that the scorer computes for an example, or for its
// explanation. With [Scorer.CacheDocuments], the number for an edited version of a recent example can be
// less than its length. For several models ComputedTokens returns the largest of their numbers.
func (s *Scorer) ComputedTokens(e *seq.Example, explained bool) (tokens int) {
	for _, member := range s.members() {
		n := PlannedTokens(e.Length(), len(e.Edges))
		switch {
		case member.linear != nil && !explained:
			n -= member.linear.sharedTokens(e)
		case member.linear == nil && member.Config().Chunks != nil:
			n = member.runner.ComputedTokens(e, explained)
		}
		tokens = max(tokens, n)
	}
	return tokens
}
