package cpu

import "github.com/sftseq/sftseq/internal/tensor"

func init() { register(byRows(embedBag), whole(embedBagBackward)) }

func embedBag(r *run, k tensor.EmbedBag) rowwise {
	d, groups := k.Y.Width(), k.Row.Width()
	y, x, table := r.floats(k.Y), r.floats(k.X), r.floats(k.Table)
	row, scale := r.ints(k.Row), r.floats(k.Scale)
	kernels := r.device.simd
	return rowwise{n: r.rows(k.Y), block: func(_ *worker, lo, hi int) {
		for t := lo; t < hi; t++ {
			from, to := x[t*d:(t+1)*d], y[t*d:(t+1)*d]
			for _, u := range row[t*groups : (t+1)*groups] {
				if u != tensor.NoRow {
					kernels.Add(to, from, table[int(u)*d:(int(u)+1)*d])
					from = to
				}
			}
			kernels.Scale(to, from, scale[t])
		}
	}}
}

func embedBagBackward(r *run, k tensor.EmbedBagBackward) {
	d := k.DX.Width()
	dx, table, dy := r.floats(k.DX), r.floats(k.DTable), r.floats(k.DY)
	scale, offset, tokens := r.floats(k.Scale), r.ints(k.Offset), r.ints(k.Token)
	kernels := r.device.simd
	r.eachRows(r.rows(k.DX), func(_ *worker, lo, hi int) {
		for t := lo; t < hi; t++ {
			kernels.Scale(dx[t*d:(t+1)*d], dy[t*d:(t+1)*d], scale[t])
		}
	})
	r.eachRows(r.rows(k.DTable), func(_ *worker, lo, hi int) {
		for u := lo; u < hi; u++ {
			sum := table[u*d : (u+1)*d]
			clear(sum)
			for _, t := range tokens[offset[u]:offset[u+1]] {
				kernels.Add(sum, sum, dx[int(t)*d:(int(t)+1)*d])
			}
		}
	})
}
