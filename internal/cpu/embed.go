package cpu

import "github.com/sftseq/sftseq/internal/tensor"

func init() { register(byRows(embed), whole(embedBackward)) }

func embed(r *run, k tensor.Embed) rowwise {
	d := k.Weight.Width()
	y, tokens, w := r.floats(k.Y), r.ints(k.Token), r.floats(k.Weight)
	return rowwise{n: r.rows(k.Y), block: func(_ *worker, lo, hi int) {
		for t := lo; t < hi; t++ {
			at := int(tokens[t]) * d
			copy(y[t*d:(t+1)*d], w[at:at+d])
		}
	}}
}

// embedBackward adds the rows of DY in order. Each worker owns some channels of every token.
func embedBackward(r *run, k tensor.EmbedBackward) {
	d := k.DWeight.Width()
	dw, dy, tokens := r.floats(k.DWeight), r.floats(k.DY), r.ints(k.Token)[:r.rows(k.DY)]
	clear(dw)
	r.eachColumns(d, func(lo, hi int) {
		r.device.simd.AddRows(dw[lo:], dy[lo:], tokens, hi-lo, d)
	})
}
