package recent

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestTake compares the numbers of shared tokens that Take returns with a loop over tokens, for random
// edits of a sequence. It also checks the numbers that Peek estimates.
func TestTake(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	for range 2000 {
		old := make([]int32, random.IntN(1200))
		for i := range old {
			old[i] = int32(random.IntN(2))
		}
		start := random.IntN(len(old) + 1)
		end := start + random.IntN(min(5, len(old)-start)+1)
		tokens := slices.Concat(old[:start], make([]int32, random.IntN(5)), old[end:])
		l := NewList[int](1 << 20)
		l.Put(&Sequence[int]{Tokens: slices.Clone(old), Value: 7}, 0)
		var peeked *Sequence[int]
		peekedPrefix, peekedSuffix := 0, 0
		l.Peek(tokens, func(s *Sequence[int], p, q int) { peeked, peekedPrefix, peekedSuffix = s, p, q })
		s, prefix, suffix := l.Take(tokens)
		if n := min(len(old), len(tokens)); peekedPrefix+peekedSuffix > n {
			t.Fatalf("Peek finds %d and %d shared tokens, want at most %d in total", peekedPrefix, peekedSuffix, n)
		}
		// An edit that moves later tokens changes every sample after it.
		if len(tokens) != len(old) && (peeked != s || peekedPrefix != prefix || peekedSuffix != suffix) {
			t.Fatalf("Peek finds %+v with %d and %d shared tokens, want the result of Take: %+v with %d and %d", peeked,
				peekedPrefix, peekedSuffix, s, prefix, suffix)
		}
		n := min(len(old), len(tokens))
		p, q := 0, 0
		for p < n && old[p] == tokens[p] {
			p++
		}
		for q < n-p && old[len(old)-1-q] == tokens[len(tokens)-1-q] {
			q++
		}
		if p+q < n/2 {
			if s != nil {
				t.Fatalf("Take returned a sequence that shares only %d of %d tokens, want nil", p+q, n)
			}
			continue
		}
		if s == nil || s.Value != 7 || prefix != p || suffix != q || l.Bytes() != 0 {
			t.Fatalf("Take returned %v with %d and %d shared tokens, and %d bytes remain; want %d, %d and 0", s, prefix,
				suffix, l.Bytes(), p, q)
		}
	}
}

// TestTakeBest checks that Take returns the sequence that shares the most tokens, and nil if all
// sequences share too few.
func TestTakeBest(t *testing.T) {
	l := NewList[int](1 << 20)
	base := make([]int32, 1000)
	for i := range base {
		base[i] = int32(i)
	}
	for _, edited := range []int{100, 700, 400} {
		s := slices.Clone(base)
		for i := edited; i < 750; i++ {
			s[i] = -1
		}
		l.Put(&Sequence[int]{Tokens: s, Value: edited}, 0)
	}
	if s, _, _ := l.Take([]int32{5, 6, 7, 8}); s != nil {
		t.Errorf("took sequence %d for tokens that it does not share", s.Value)
	}
	for _, want := range []int{700, 400} {
		if s, prefix, suffix := l.Take(base); s == nil || s.Value != want || prefix != want || suffix != 250 {
			t.Errorf("took %v, which shares %d and %d tokens, want sequence %d, which shares %[4]d and 250", s,
				prefix, suffix, want)
		}
	}
	if s, _, _ := l.Take(base); s != nil { // 350 of 1,000 tokens
		t.Errorf("took sequence %d, which shares less than half of the tokens, want nil", s.Value)
	}
}

// TestPutLimits checks that a list stays within its limits in bytes and in sequences, and evicts the
// oldest sequences first.
func TestPutLimits(t *testing.T) {
	l := NewList[int](1000)
	for i := range 5 {
		l.Put(&Sequence[int]{Tokens: slices.Repeat([]int32{int32(i)}, 50), Value: i}, 100)
	}
	if l.Bytes() != 900 {
		t.Errorf("%d bytes, want three sequences of 300", l.Bytes())
	}
	for i := range 5 {
		s, _, _ := l.Take(slices.Repeat([]int32{int32(i)}, 50))
		if (s != nil) != (i >= 2) {
			t.Errorf("sequence %d: found %v, want only sequences 2 to 4", i, s)
		}
	}
	l.Put(&Sequence[int]{Tokens: make([]int32, 250)}, 1)
	if l.Bytes() != 0 {
		t.Errorf("kept a sequence of 1,001 bytes, want at most 1,000")
	}
	l = NewList[int](1 << 20)
	for i := range maxSequences + 5 {
		l.Put(&Sequence[int]{Tokens: []int32{int32(i)}}, 0)
	}
	if l.Bytes() != 4*maxSequences {
		t.Errorf("%d bytes, want %d sequences", l.Bytes(), maxSequences)
	}
}

// TestSampled checks the estimates for long sequences. They are exact for edits that move tokens or
// replace a range of two steps, and may miss a single replaced token.
func TestSampled(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 1))
	const n, step = 1 << 20, (1 << 20) / samples
	for range 50 {
		old := make([]int32, n)
		for i := range old {
			old[i] = int32(random.IntN(1000))
		}
		l := NewList[int](1 << 30)
		l.Put(&Sequence[int]{Tokens: old}, 0)
		at := random.IntN(n - 3*step)
		many := slices.Clone(old)
		for i := at; i < at+2*step; i++ {
			many[i]++
		}
		one := slices.Clone(old)
		one[at]++
		for name, x := range map[string]struct {
			tokens     []int32
			from, want int
		}{
			"insertion": {slices.Insert(slices.Clone(old), at, 1000), n, n},
			"many":      {many, n - 2*step, n - 2*step},
			"one":       {one, n - 1, n},
		} {
			shared := 0
			l.Peek(x.tokens, func(_ *Sequence[int], prefix, suffix int) { shared = prefix + suffix })
			if shared < x.from || shared > x.want {
				t.Errorf("%s at %d: %d shared tokens, want %d", name, at, shared, x.want)
			}
		}
	}
}
