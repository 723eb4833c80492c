package cpu

import (
	"sftseq/internal/philox"
	"sftseq/internal/tensor"
)

func dropout(r *run, k tensor.Dropout) {
	s, width := r.sequences(k.Batch), k.X.Width()
	y, x := r.floats(k.Y), r.floats(k.X)
	scale := 1 / (1 - k.Rate)
	block := func(b, first, lo, hi int) { // rows lo … hi−1 of sequence b, whose first row is given
		n := uint64(lo-first) * uint64(width)
		var words [4]uint32
		fresh := false
		for i := lo * width; i < hi*width; i++ {
			if !fresh || n&3 == 0 {
				c := philox.Counter(uint32(n>>2), s.tower[b], k.Layer, k.Stream, s.example[b], s.step)
				words, fresh = philox.Words(s.seed, c), true
			}
			var kept float32
			if philox.Uniform(words[n&3]) >= k.Rate {
				kept = x[i] * scale
			}
			y[i] = kept
			n++
		}
	}
	if k.X.Rows == tensor.Sampled {
		r.each(s.n, func(_ *worker, b int) {
			lo, hi := s.sampled(b)
			block(b, lo, lo, hi)
		})
		return
	}
	sequence := r.ints(k.Batch.Sequence)
	r.eachRows(r.rows(k.X), func(_ *worker, lo, hi int) {
		for lo < hi {
			b := int(sequence[lo])
			first, end := s.tokens(b)
			block(b, first, lo, min(hi, end))
			lo = end
		}
	})
}
