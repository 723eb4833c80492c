//go:build cgo

package vk

import (
	"math"

	"github.com/sftseq/sftseq/internal/tensor"
)

func init() { register(kernel(layerNorm), kernel(layerNormBackward)) }

func layerNorm(r *recorder, k tensor.LayerNorm) {
	eachExtent(k.X, k.X.Width(), func(e extent) {
		r.dispatch(e.rows("layernorm", write(e.of(k.Y)), write(e.of(k.Mean)), write(e.of(k.RStd)),
			read(e.of(k.X)), read(k.Gain), read(k.Bias)).with(math.Float32bits(k.Eps)))
	})
}

// layerNormBackward computes the gradients of the parameters before DX, which may share the memory
// of DY.
func layerNormBackward(r *recorder, k tensor.LayerNormBackward) {
	d, n := k.X.Width(), pieces(k.X.Shape[0])
	gain, bias := r.scratch(n*d), r.scratch(n*d)
	eachExtent(k.X, d, func(e extent) {
		r.dispatch(e.columns("layernorm_backward_parameters", n,
			update(gain), update(bias), read(e.of(k.DY)), read(e.of(k.X)), read(e.of(k.Mean)), read(e.of(k.RStd))))
	})
	eachExtent(k.X, d, func(e extent) {
		dx := write(e.of(k.DX))
		if k.Accumulate {
			dx = update(e.of(k.DX))
		}
		r.dispatch(e.rows("layernorm_backward", dx, read(e.of(k.DY)), read(e.of(k.X)),
			read(e.of(k.Mean)), read(e.of(k.RStd)), read(k.Gain)).with(word(k.Accumulate)))
	})
	r.sumParts(k.DGain, gain, d, n, assign)
	r.sumParts(k.DBias, bias, d, n, assign)
}
