package cpu

import "github.com/sftseq/sftseq/internal/tensor"

func init() { register(whole(leak), whole(leakBackward)) }

func leak(r *run, k tensor.Leak) {
	s, h := r.sequences(k.Batch), k.C.Width()
	y, c, count := r.floats(k.Y), r.floats(k.C), r.ints(k.Count)
	r.parallel(s.n, func(w *worker, b int) {
		lo, _ := s.sampled(b)
		n := int(count[b])
		softplus := w.floats(n*h + h)
		softplus, part := softplus[:n*h], softplus[n*h:]
		r.device.simd.Softplus(softplus, c[lo*h:(lo+n)*h])
		total := y[b*h : (b+1)*h]
		clear(total)
		// Summing tile by tile limits the rounding error of a long sum.
		for at := 0; at < n; at += keyTile {
			clear(part)
			for j := at; j < min(n, at+keyTile); j++ {
				for i, v := range softplus[j*h : (j+1)*h] {
					part[i] += v
				}
			}
			for i, v := range part {
				total[i] += v
			}
		}
	})
}

func leakBackward(r *run, k tensor.LeakBackward) {
	s, h := r.sequences(k.Batch), k.C.Width()
	dc, dy, c, count := r.floats(k.DC), r.floats(k.DY), r.floats(k.C), r.ints(k.Count)
	r.parallel(s.n, func(_ *worker, b int) {
		lo, hi := s.sampled(b)
		end := lo + int(count[b])
		r.device.simd.Sigmoid(dc[lo*h:end*h], c[lo*h:end*h])
		g := dy[b*h : (b+1)*h]
		for j := lo; j < end; j++ {
			row := dc[j*h : (j+1)*h]
			for i, v := range g {
				row[i] *= v
			}
		}
		clear(dc[end*h : hi*h])
	})
}
