package cpu

import "github.com/sftseq/sftseq/internal/tensor"

func init() { register(whole(maxPool), whole(maxPoolBackward)) }

func maxPool(r *run, k tensor.MaxPool) {
	d := k.X.Width()
	y, arg, x, first := r.floats(k.Y), r.ints(k.Arg), r.floats(k.X), r.ints(k.First)
	var count []int32
	if k.Count != nil {
		count = r.ints(k.Count)
	}
	r.parallel(r.rows(k.Y), func(_ *worker, b int) {
		lo, n := int(first[b]), int(first[b+1]-first[b])
		if count != nil {
			n = int(count[b])
		}
		maxima, argMax := y[b*d:(b+1)*d], arg[b*d:(b+1)*d]
		copy(maxima, x[lo*d:(lo+1)*d])
		clear(argMax)
		for i := 1; i < n; i++ {
			for c, v := range x[(lo+i)*d : (lo+i+1)*d] {
				if v > maxima[c] || v != v && maxima[c] == maxima[c] {
					maxima[c], argMax[c] = v, int32(i)
				}
			}
		}
	})
}

func maxPoolBackward(r *run, k tensor.MaxPoolBackward) {
	d := k.DX.Width()
	dx, dy, arg, first := r.floats(k.DX), r.floats(k.DY), r.ints(k.Arg), r.ints(k.First)
	r.parallel(r.rows(k.DY), func(_ *worker, b int) {
		rows := dx[int(first[b])*d : int(first[b+1])*d]
		clear(rows)
		for c, i := range arg[b*d : (b+1)*d] {
			rows[int(i)*d+c] = dy[b*d+c]
		}
	})
}
