package ngram

import "math/bits"

// distinct is a set of numbers. Unless it grows, it is cleared in constant time. It is an open-addressing
// table: each call of clear starts a generation, and entries of other generations are free.
type distinct struct {
	table      []uint64 // generation in the upper half, number in the lower
	generation uint32
	shift      int // right shift that turns a 32-bit hash into the index of the first probe
}

// clear empties the set and makes room for n numbers.
func (d *distinct) clear(n int) {
	if size := 1 << bits.Len(uint(max(n, 32)*2-1)); size > len(d.table) {
		d.table, d.generation, d.shift = make([]uint64, size), 0, 33-bits.Len(uint(size))
	}
	if d.generation++; d.generation == 0 {
		clear(d.table)
		d.generation = 1
	}
}

// add adds a number and reports whether it is new.
func (d *distinct) add(v uint32) bool {
	entry := uint64(d.generation)<<32 | uint64(v)
	for probe := int(v * 0x9E3779B1 >> d.shift); ; probe++ {
		e := &d.table[probe&(len(d.table)-1)]
		switch {
		case *e>>32 != uint64(d.generation):
			*e = entry
			return true
		case *e == entry:
			return false
		}
	}
}
