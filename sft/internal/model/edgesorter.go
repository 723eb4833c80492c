package model

// edgeSorter sorts edges by source and target with a radix sort in linear time. It keeps its memory
// for the next edges.
type edgeSorter struct {
	sorted, other []edgePlace
	next          [1 << digitBits]int32
}

// digitBits is the maximum number of bits of a digit: its counts fit into the L1 cache.
const digitBits = 11

// edgePlace holds source and target of an edge as one number, and the index of the edge before
// sorting.
type edgePlace struct {
	ends  uint64
	place int32
}

// sort sorts edges by ends, numbers with this number of bits. The sort is stable.
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

// by sorts by a digit of ends: digit bits from bit from on. The sort is stable.
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
