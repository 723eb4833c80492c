package cpu

import "github.com/sftseq/sftseq/internal/tensor"

func init() { register(byRows(layerNorm), byRows(layerNormBackward)) }

func layerNorm(r *run, k tensor.LayerNorm) rowwise {
	d := k.X.Width()
	y, x, mean, rstd := r.floats(k.Y), r.floats(k.X), r.floats(k.Mean), r.floats(k.RStd)
	gain, bias := r.floats(k.Gain), r.floats(k.Bias)
	return rowwise{n: r.rows(k.X), block: func(_ *worker, lo, hi int) {
		r.device.simd.LayerNorm(y[lo*d:hi*d], mean[lo:hi], rstd[lo:hi], x[lo*d:hi*d], gain, bias, k.Eps)
	}}
}

// layerNormBackward computes DX and the gradients of the parameters in one pass over each block of
// rows. DX may share the memory of DY.
func layerNormBackward(r *run, k tensor.LayerNormBackward) rowwise {
	d, rows := k.X.Width(), r.rows(k.X)
	dx, dy, x := r.floats(k.DX), r.floats(k.DY), r.floats(k.X)
	mean, rstd, gain := r.floats(k.Mean), r.floats(k.RStd), r.floats(k.Gain)
	backward := r.device.simd.LayerNormBackward
	if k.Accumulate {
		backward = r.device.simd.LayerNormBackwardAdd
	}
	parts := r.parts(blocks(rows) * 2 * d)
	return rowwise{n: rows, block: func(_ *worker, lo, hi int) {
		part := parts[lo/rowBlock*2*d:][:2*d]
		clear(part)
		backward(dx[lo*d:hi*d], part[:d], part[d:], dy[lo*d:hi*d], x[lo*d:hi*d], mean[lo:hi], rstd[lo:hi], gain)
	}, finish: func() { r.sumParts(parts, r.floats(k.DGain), r.floats(k.DBias)) }}
}
