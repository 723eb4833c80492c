package cpu

import (
	"sftseq/internal/fmath"
	"sftseq/internal/tensor"
)

func leak(r *run, k tensor.Leak) {
	s, h := r.sequences(k.Batch), k.C.Width()
	y, c, count := r.floats(k.Y), r.floats(k.C), r.ints(k.Count)
	r.each(s.n, func(_ *worker, b int) {
		lo, _ := s.sampled(b)
		end := lo + int(count[b])
		for n := range h {
			var total float32
			for at := lo; at < end; at += keyTile {
				var part float32
				for j := at; j < min(end, at+keyTile); j++ {
					part += fmath.Softplus(c[j*h+n])
				}
				total += part
			}
			y[b*h+n] = total
		}
	})
}

func leakBackward(r *run, k tensor.LeakBackward) {
	s, h := r.sequences(k.Batch), k.C.Width()
	dc, dy, c, count := r.floats(k.DC), r.floats(k.DY), r.floats(k.C), r.ints(k.Count)
	r.each(s.n, func(_ *worker, b int) {
		lo, hi := s.sampled(b)
		end := lo + int(count[b])
		for j := lo; j < end; j++ {
			for n := range h {
				dc[j*h+n] = dy[b*h+n] * fmath.Sigmoid(c[j*h+n])
			}
		}
		clear(dc[end*h : hi*h])
	})
}
