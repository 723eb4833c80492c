package cpu

import "github.com/sftseq/sftseq/internal/tensor"

func init() { register(byRows(gather)) }

func gather(r *run, k tensor.Gather) rowwise {
	n := k.Y.Width()
	y, x, row := r.floats(k.Y), r.floats(k.X), r.ints(k.Row)
	return rowwise{n: r.rows(k.Y), block: func(_ *worker, lo, hi int) {
		for i := lo; i < hi; i++ {
			to := y[i*n : (i+1)*n]
			if row[i] == tensor.NoRow {
				clear(to)
				continue
			}
			copy(to, x[int(row[i])*n:])
		}
	}}
}
