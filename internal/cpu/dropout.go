package cpu

import (
	"sftseq/internal/philox"
	"sftseq/internal/simd"
	"sftseq/internal/tensor"
)

func dropout(r *run, k tensor.Dropout) {
	s, width := r.sequences(k.Batch), k.X.Width()
	y, x := r.floats(k.Y), r.floats(k.X)
	block := func(w *worker, b, first, lo, hi int) { // rows lo … hi−1 of sequence b, whose first row is given
		w.key = [2]uint32{uint32(s.seed), uint32(s.seed >> 32)}
		w.counter = philox.Counter(0, s.tower[b], k.Layer, k.Stream, s.example[b], s.step)
		r.drop(w, y[lo*width:hi*width], x[lo*width:hi*width], uint64(lo-first)*uint64(width), k.Rate)
	}
	if k.X.Rows == tensor.Sampled {
		r.each(s.n, func(w *worker, b int) {
			lo, hi := s.sampled(b)
			block(w, b, lo, lo, hi)
		})
		return
	}
	sequence := r.ints(k.Batch.Sequence)
	r.eachRows(r.rows(k.X), func(w *worker, lo, hi int) {
		for lo < hi {
			b := int(sequence[lo])
			first, end := s.tokens(b)
			block(w, b, first, lo, min(hi, end))
			lo = end
		}
	})
}

// drop draws for elements that begin at number n of the worker's key and
// counter. Only where rows have no multiple of four elements does a block begin
// within the words of a counter.
func (r *run) drop(w *worker, y, x []float32, n uint64, rate float32) {
	least, scale := simd.Least(rate), 1/(1-rate)
	if first := int(n & 3); first != 0 {
		m := copy(w.lead[first:], x)
		w.counter[0] = uint32(n >> 2)
		r.device.simd.Dropout(w.lead[:], w.lead[:], &w.counter, &w.key, least, scale)
		y, x = y[copy(y, w.lead[first:first+m]):], x[m:]
		n += uint64(m)
	}
	w.counter[0] = uint32(n >> 2)
	r.device.simd.Dropout(y, x, &w.counter, &w.key, least, scale)
}
