package cpu

import (
	"sort"

	"github.com/sftseq/sftseq/internal/philox"
	"github.com/sftseq/sftseq/internal/simd"
	"github.com/sftseq/sftseq/internal/tensor"
)

func init() { register(byRows(dropout)) }

func dropout(r *run, k tensor.Dropout) rowwise {
	s, width := r.sequences(k.Batch), k.X.Width()
	y, x := r.floats(k.Y), r.floats(k.X)
	rowsOf := s.tokens
	if k.X.Rows == tensor.Sampled {
		rowsOf = s.sampled
	}
	return rowwise{n: r.rows(k.X), block: func(w *worker, lo, hi int) {
		// the sequence that contains row lo
		b := sort.Search(s.n, func(b int) bool { first, _ := rowsOf(b); return first > lo }) - 1
		for ; lo < hi; b++ {
			first, end := rowsOf(b)
			end = min(hi, end)
			w.key = [2]uint32{uint32(s.seed), uint32(s.seed >> 32)}
			w.counter = philox.Counter(0, s.tower[b], k.Layer, k.Stream, s.example[b], s.step)
			r.drop(w, y[lo*width:end*width], x[lo*width:end*width], uint64(lo-first)*uint64(width), k.Rate)
			lo = end
		}
	}}
}

// drop applies dropout to x and writes the result to y. It uses the random numbers that w.counter and
// w.key generate, from number n on. Each value of the counter generates four numbers; n is a multiple of
// four if the row width is.
func (r *run) drop(w *worker, y, x []float32, n uint64, rate float32) {
	minWord, scale := simd.DropoutThreshold(rate), 1/(1-rate)
	if first := int(n & 3); first != 0 {
		m := copy(w.lead[first:], x)
		w.counter[0] = uint32(n >> 2)
		r.device.simd.Dropout(w.lead[:], w.lead[:], &w.counter, &w.key, minWord, scale)
		y, x = y[copy(y, w.lead[first:first+m]):], x[m:]
		n += uint64(m)
	}
	w.counter[0] = uint32(n >> 2)
	r.device.simd.Dropout(y, x, &w.counter, &w.key, minWord, scale)
}
