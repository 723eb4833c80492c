// Package recent keeps values of long sequences that were computed lately, so that the value of a
// sequence with an edit can be computed from the value before the edit.
package recent

import "sync"

// MinTokens is the minimum number of tokens of a sequence whose value is worth keeping.
const MinTokens = 1 << 14

// maxSequences is the maximum number of sequences that a list compares with a new one.
const maxSequences = 64

// List keeps the values of recent sequences up to a number of bytes. It is safe for concurrent use.
type List[V any] struct {
	mu        sync.Mutex
	limit     int64
	bytes     int64
	sequences []*Sequence[V] // most recent last
}

// Sequence is a sequence with its value. A caller of [List.Take] owns it until [List.Put].
type Sequence[V any] struct {
	Tokens []int32
	Value  V
	bytes  int64
}

// NewList returns a list that keeps up to limit bytes.
func NewList[V any](limit int64) *List[V] { return &List[V]{limit: limit} }

// Take removes from the list the sequence that shares the most tokens with the given ones at its
// start and its end, and returns it with both numbers of shared tokens. If none shares half of its
// own or of the given tokens, Take returns nil.
func (l *List[V]) Take(tokens []int32) (best *Sequence[V], prefix, suffix int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	at, prefix, suffix := l.nearest(tokens, commonPrefix, commonSuffix)
	if at < 0 {
		return nil, 0, 0
	}
	best = l.sequences[at]
	l.remove(at)
	return best, prefix, suffix
}

// Peek calls f with the sequence that [List.Take] would return, if there is one, and does not remove
// it. It compares only samples of the tokens, so the numbers of shared tokens are estimates. f may only
// read the sequence, and may not call the list.
func (l *List[V]) Peek(tokens []int32, f func(s *Sequence[V], prefix, suffix int)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if at, prefix, suffix := l.nearest(tokens, sampledPrefix, sampledSuffix); at >= 0 {
		f(l.sequences[at], prefix, suffix)
	}
}

// nearest returns the index of the sequence for Take, or −1, and its numbers of shared tokens by these
// functions of two sequences of one length. The caller holds l.mu.
func (l *List[V]) nearest(tokens []int32, prefixOf, suffixOf func(a, b []int32) int) (at, prefix, suffix int) {
	at = -1
	for i, s := range l.sequences {
		n := min(len(s.Tokens), len(tokens))
		p := prefixOf(s.Tokens[:n], tokens[:n])
		q := suffixOf(s.Tokens[len(s.Tokens)-n+p:], tokens[len(tokens)-n+p:])
		if p+q >= max(n/2, prefix+suffix) {
			at, prefix, suffix = i, p, q
		}
	}
	return at, prefix, suffix
}

// Put adds a sequence whose value takes a number of bytes, and drops the sequences that were not used
// for the longest time to make room. It drops the sequence itself if it is longer than the limit.
func (l *List[V]) Put(s *Sequence[V], valueBytes int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s.bytes = 4*int64(cap(s.Tokens)) + valueBytes
	if s.bytes > l.limit {
		return
	}
	l.sequences = append(l.sequences, s)
	l.bytes += s.bytes
	for l.bytes > l.limit || len(l.sequences) > maxSequences {
		l.remove(0)
	}
}

// Bytes returns the number of bytes that the list keeps.
func (l *List[V]) Bytes() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.bytes
}

// remove removes sequence i. The caller holds l.mu.
func (l *List[V]) remove(i int) {
	l.bytes -= l.sequences[i].bytes
	copy(l.sequences[i:], l.sequences[i+1:])
	l.sequences[len(l.sequences)-1] = nil
	l.sequences = l.sequences[:len(l.sequences)-1]
}

// block is a number of tokens that are compared as one array: a comparison of memory, many times as
// fast as a loop over tokens.
const block = 256

// commonPrefix returns the number of leading tokens that a and b, which have the same length, share.
func commonPrefix(a, b []int32) (n int) {
	for len(a)-n >= block && *(*[block]int32)(a[n:]) == *(*[block]int32)(b[n:]) {
		n += block
	}
	for n < len(a) && a[n] == b[n] {
		n++
	}
	return n
}

// commonSuffix returns the number of trailing tokens that a and b, which have the same length, share.
func commonSuffix(a, b []int32) int {
	end := len(a)
	for end >= block && *(*[block]int32)(a[end-block:]) == *(*[block]int32)(b[end-block:]) {
		end -= block
	}
	for end > 0 && a[end-1] == b[end-1] {
		end--
	}
	return len(a) - end
}

// samples is the number of blocks that an estimate compares.
const samples = 256

// sampledPrefix estimates commonPrefix: it skips tokens between blocks that are equal, so that it may
// miss a difference of fewer than len(a)/samples tokens.
func sampledPrefix(a, b []int32) (n int) {
	step := max(block, len(a)/samples)
	for n+step+block <= len(a) && *(*[block]int32)(a[n+step:]) == *(*[block]int32)(b[n+step:]) {
		n += step
	}
	end := min(len(a), n+step+block)
	return n + commonPrefix(a[n:end], b[n:end])
}

// sampledSuffix estimates commonSuffix as sampledPrefix estimates commonPrefix.
func sampledSuffix(a, b []int32) int {
	step, end := max(block, len(a)/samples), len(a)
	for end-step-block >= 0 && *(*[block]int32)(a[end-step-block:]) == *(*[block]int32)(b[end-step-block:]) {
		end -= step
	}
	start := max(0, end-step-block)
	return len(a) - end + commonSuffix(a[start:end], b[start:end])
}
