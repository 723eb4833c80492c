package ngram

import (
	"encoding/binary"
	"iter"
)

// Cells is the number of cells of a [Sketch].
const Cells = 1 << 24

// cell returns the low 24 bits of the hash h. The slot of an n-gram consists of at most the high 24
// bits of its hash, so slot and cell share no bits.
func cell(h uint64) uint32 { return uint32(h) & (Cells - 1) }

// Sketch counts, for each cell, the rows with an n-gram that hashes to the cell. Counts saturate at
// 255. A sketch takes 16 MiB.
type Sketch struct{ rows []uint8 }

// NewSketch returns an empty sketch.
func NewSketch() *Sketch { return &Sketch{make([]uint8, Cells)} }

// Add adds a row with the sequences a and b. It increments each cell of the row's n-grams once.
func (s *Sketch) Add(x *Extractor, a, b []int32) {
	hashes := x.Hashes(a, b)
	x.seen.clear(len(hashes))
	for _, h := range hashes {
		if c := cell(h); x.seen.add(c) && s.rows[c] < MaxCount {
			s.rows[c]++
		}
	}
}

// Merge adds the rows of another sketch. The sum does not depend on the order in which sketches are merged.
func (s *Sketch) Merge(other *Sketch) {
	for i, n := range other.nonzero() {
		s.rows[i] = uint8(min(MaxCount, int(s.rows[i])+int(n)))
	}
}

// nonzero yields each cell with a count above 0, and the count. It tests eight cells at a time, because
// most counts of a small data set are 0.
func (s *Sketch) nonzero() iter.Seq2[int, uint8] {
	return func(yield func(int, uint8) bool) {
		for first := 0; first < len(s.rows); first += 8 {
			if binary.LittleEndian.Uint64(s.rows[first:]) == 0 {
				continue
			}
			for i, n := range s.rows[first : first+8] {
				if n > 0 && !yield(first+i, n) {
					return
				}
			}
		}
	}
}

// Kept returns the cells with at least minRows rows. minRows is at least 1.
func (s *Sketch) Kept(minRows int) Bitmap {
	out := NewBitmap(Cells)
	for i, n := range s.nonzero() {
		if int(n) >= minRows {
			out.Set(uint32(i))
		}
	}
	return out
}

// Bitmap is a set of numbers: number i is bit i mod 32 of word i/32.
type Bitmap []int32

// NewBitmap returns an empty set of numbers below n, rounded down to a multiple of 32.
func NewBitmap(n int) Bitmap { return make(Bitmap, n/32) }

// Has reports whether a number is in the set.
func (b Bitmap) Has(i uint32) bool { return b[i/32]>>(i%32)&1 != 0 }

// Set adds a number to the set.
func (b Bitmap) Set(i uint32) { b[i/32] |= 1 << (i % 32) }

// Merge adds the numbers of another set of the same size.
func (b Bitmap) Merge(other Bitmap) {
	for i, w := range other {
		b[i] |= w
	}
}
