// Package recent caches values that were computed for long sequences. After an edit of a sequence, a
// caller computes the new value from the cached value of the sequence before the edit.
package recent

import "sync"

// MinTokens is the minimum length in tokens of a sequence whose value is worth caching.
const MinTokens = 1 << 14

// maxSequences is the maximum number of sequences in a list, because Take compares all of them.
const maxSequences = 64

// List caches the values of recent sequences, up to a limit in bytes. It is safe for concurrent use.
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

// Take removes the sequence that shares the most leading and trailing tokens with the given tokens. It
// returns the sequence and the numbers of shared leading and trailing tokens. The shared tokens must make
// up at least half of the sequence or of the given tokens, whichever is shorter. If no sequence qualifies,
// Take returns nil.
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

// Peek is like [List.Take], but keeps the sequence in the list and calls f with it. If there is no such
// sequence, Peek does not call f. Peek compares only samples of the tokens, so the numbers of shared
// tokens are estimates. f may only read the sequence, and must not call methods of the list.
func (l *List[V]) Peek(tokens []int32, f func(s *Sequence[V], prefix, suffix int)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if at, prefix, suffix := l.nearest(tokens, sampledPrefix, sampledSuffix); at >= 0 {
		f(l.sequences[at], prefix, suffix)
	}
}

// nearest returns the index of the sequence for Take, or −1, and its numbers of shared tokens. prefixOf
// and suffixOf count these tokens for two sequences of equal length. The caller holds l.mu.
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

// Put adds a sequence whose value takes valueBytes, and evicts the sequences that were added first if
// the list exceeds a limit. It drops a sequence that alone exceeds the limit in bytes.
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

// block is the number of tokens that are compared as one array. Comparing memory is many times as fast
// as a loop over tokens.
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

// samples is the approximate number of blocks that an estimate compares in a long sequence.
const samples = 256

// sampledPrefix estimates commonPrefix. It compares one block per step of max(block, len(a)/samples)
// tokens, and may miss a difference in the tokens that it skips.
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
