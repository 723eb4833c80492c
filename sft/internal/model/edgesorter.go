package model

// edgeSorter sorts edges by their ends. It counts digits of these and compares nothing, so that its
// time is linear, and keeps its memory for the next edges.
type edgeSorter struct {
	sorted, other []edgePlace
	next          [1 << digitBits]int32
}

// digitBits are the maximum bits of a digit: its counts fit into the L1 cache.
const digitBits = 11

// edgePlace is the ends of an edge, as a number of few bits, and its place among those to be sorted.
type edgePlace struct {
	ends  uint64
	place int32
}

// sort sorts edges whose ends have a number of bits; edges with the same ends stay in their order.
func (s *edgeSorter) sort(ends []uint64, bits int) {
	s.sorted, s.other = resized(s.sorted, len(ends)), resized(s.other, len(ends))
	for i, e := range ends {
		s.sorted[i] = edgePlace{e, int32(i)}
	}
	for from, digits := 0, (bits+digitBits-1)/digitBits; digits > 0; digits-- {
		digit := (bits - from + digits - 1) / digits
		s.by(from, digit)
		from += digit
	}
}

// by sorts by the digit of a number of bits that begins at bit from. Edges with equal digits stay in their order.
func (s *edgeSorter) by(from, digit int) {
	next, mask := s.next[:1<<digit], uint64(1)<<digit-1
	clear(next)
	for i := range s.sorted {
		next[s.sorted[i].ends>>from&mask]++
	}
	at := int32(0)
	for d, n := range next {
		next[d] = at
		at += n
	}
	other := s.other
	for _, e := range s.sorted {
		d := e.ends >> from & mask
		other[next[d]] = e
		next[d]++
	}
	s.sorted, s.other = other, s.sorted
}
