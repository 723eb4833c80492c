package sft

import (
	"math/bits"

	"github.com/sftseq/sftseq/seq"
)

// edgeSorter sorts edges by target and source. It counts digits of these and compares nothing, so
// that its time is linear, and keeps its memory for the next graph.
type edgeSorter struct {
	sorted, other []edgePlace
	features      []float32 // of each edge, by its place
	sourceBits    int       // of edgePlace.ends
	next          [1 << digitBits]int32
}

// digitBits are the most bits of a digit: its counts stay in a processor's first cache.
const digitBits = 11

// edgePlace is an edge among those that are sorted.
type edgePlace struct {
	ends  uint64 // the target and, below it, the source
	place int32  // where its features are
}

// sort sorts the edges among n tokens; those of the same ends stay in their order. Edges are read
// one after the other and once, because there may be millions, which no cache holds.
func (s *edgeSorter) sort(edges []seq.Edge, n, width int) {
	s.sorted, s.other, s.features = resized(s.sorted, len(edges)), resized(s.other, len(edges)), resized(s.features, len(edges)*width)
	s.sourceBits = bits.Len(uint(n - 1))
	for i := range edges {
		e := &edges[i]
		s.sorted[i] = edgePlace{uint64(e.Target)<<s.sourceBits | uint64(e.Source), int32(i)}
		row := s.features[i*width:][:len(e.Features)]
		for c, v := range e.Features {
			row[c] = v
		}
	}
	for from, all := 0, 2*s.sourceBits; from < all; {
		rest := all - from
		digits := (rest + digitBits - 1) / digitBits
		digit := (rest + digits - 1) / digits
		s.by(from, digit)
		from += digit
	}
}

// by sorts by the digit of so many bits that begins at one. Those of one digit stay in their order.
func (s *edgeSorter) by(from, digit int) {
	next := s.next[:1<<digit]
	clear(next)
	mask := uint64(len(next) - 1)
	for i := range s.sorted {
		next[s.sorted[i].ends>>from&mask]++
	}
	at := int32(0)
	for d, n := range next {
		next[d] = at
		at += n
	}
	for _, e := range s.sorted {
		d := e.ends >> from & mask
		s.other[next[d]] = e
		next[d]++
	}
	s.sorted, s.other = s.other, s.sorted
}

// target and source are the ends of an edge.
func (s *edgeSorter) target(e edgePlace) int   { return int(e.ends >> s.sourceBits) }
func (s *edgeSorter) source(e edgePlace) int32 { return int32(e.ends & (1<<s.sourceBits - 1)) }
