package bench

import (
	"fmt"
	"math"

	"sftseq/internal/tensor"
)

// linearKernels are the matrix products: of the projections, of the MLP, and of
// the width of the paper's runtime table.
func linearKernels() []Kernel {
	var out []Kernel
	for _, s := range []struct{ rows, in, out int }{{4096, 128, 128}, {4096, 128, 512}, {4096, 512, 128}, {1024, 256, 256}} {
		size := fmt.Sprintf("%d×%d→%d", s.rows, s.in, s.out)
		batch := func() *rig { return newRig(0, s.rows) }
		product := 2 * float64(s.rows) * float64(s.in) * float64(s.out)
		weight := func(r *rig) *tensor.Tensor { return r.parameter(1/math.Sqrt(float64(s.in)), s.out, s.in) }
		out = append(out,
			Kernel{"linear", size, work{products: product}, func(r *rig) tensor.Kernel {
				return tensor.Linear{Y: r.out(tensor.Tokens, s.out), X: r.normal(tensor.Tokens, s.in, 1), Weight: weight(r), Bias: r.parameter(1, s.out)}
			}, batch},
			// The gradients of the input and of the weight are a product each.
			Kernel{"linear backward", size, work{products: 2 * product}, func(r *rig) tensor.Kernel {
				return tensor.LinearBackward{DX: r.out(tensor.Tokens, s.in), DWeight: r.outFixed(s.out, s.in), DBias: r.outFixed(s.out),
					DY: r.normal(tensor.Tokens, s.out, 1), X: r.normal(tensor.Tokens, s.in, 1), Weight: weight(r)}
			}, batch})
	}
	return out
}
