//go:build cgo

package vk

import (
	"math"

	"github.com/sftseq/sftseq/internal/tensor"
)

func init() { register(kernel(layerNorm), kernel(layerNormBackward)) }

func layerNorm(r *recorder, k tensor.LayerNorm) {
	eachExtent(k.X, k.X.Width(), func(e extent) {
		r.dispatch(e.rows("layernorm", write(e.slice(k.Y)), write(e.slice(k.Mean)), write(e.slice(k.RStd)),
			read(e.slice(k.X)), read(k.Gain), read(k.Bias)).withPush(math.Float32bits(k.Eps)))
	})
}

// layerNormBackward computes the gradients of the parameters before DX, which may share the memory
// of DY.
func layerNormBackward(r *recorder, k tensor.LayerNormBackward) {
	d, n := k.X.Width(), pieces(k.X.Shape[0])
	gain, bias := r.scratch(n*d), r.scratch(n*d)
	eachExtent(k.X, d, func(e extent) {
		r.dispatch(e.columns("layernorm_backward_parameters", n,
			update(gain), update(bias), read(e.slice(k.DY)), read(e.slice(k.X)), read(e.slice(k.Mean)), read(e.slice(k.RStd))))
	})
	eachExtent(k.X, d, func(e extent) {
		dx := write(e.slice(k.DX))
		if k.Accumulate {
			dx = update(e.slice(k.DX))
		}
		r.dispatch(e.rows("layernorm_backward", dx, read(e.slice(k.DY)), read(e.slice(k.X)),
			read(e.slice(k.Mean)), read(e.slice(k.RStd)), read(k.Gain)).withPush(boolWord(k.Accumulate)))
	})
	r.sumParts(k.DGain, gain, d, n, assign)
	r.sumParts(k.DBias, bias, d, n, assign)
}
