package bench

import (
	"context"
	"fmt"
	"math"

	"github.com/sftseq/sftseq/internal/tensor"
)

// product is the size of a linear layer and its number of rows.
type product struct{ rows, in, out int }

func (s product) String() string { return fmt.Sprintf("%d×%d→%d", s.rows, s.in, s.out) }

func (s product) fixture() *fixture { return newFixture(0, s.rows) }

func (s product) weight(r *fixture) *tensor.Tensor {
	return r.parameter(1/math.Sqrt(float64(s.in)), s.out, s.in)
}

func (s product) linear() Kernel {
	return Kernel{"linear", s.String(), work{}, func(r *fixture) tensor.Kernel {
		return tensor.Linear{Y: r.out(tensor.Tokens, s.out), X: r.normal(tensor.Tokens, s.in, 1), Weight: s.weight(r),
			Bias: r.parameter(1, s.out)}
	}, s.fixture}
}

func (s product) backward() Kernel {
	return Kernel{"linear backward", s.String(), work{}, func(r *fixture) tensor.Kernel {
		return tensor.LinearBackward{DX: r.out(tensor.Tokens, s.in), DWeight: r.outFixed(s.out, s.in),
			DBias: r.outFixed(s.out),
			DY:    r.normal(tensor.Tokens, s.out, 1), X: r.normal(tensor.Tokens, s.in, 1), Weight: s.weight(r)}
	}, s.fixture}
}

// linearKernels returns the forward and backward kernels of linear layers. The sizes are those of the
// projections and the feed-forward block of the ListOps model, and of the paper's runtime table.
func linearKernels() []Kernel {
	var out []Kernel
	for _, s := range []product{{4096, 128, 128}, {4096, 128, 512}, {4096, 512, 128}, {1024, 256, 256}} {
		out = append(out, s.linear(), s.backward())
	}
	return out
}

// ProductRate measures the FLOP/s of a device in a product of 2048×2048 matrices. A multiply-add
// counts as two operations. A mixed-precision device multiplies with cooperative matrices.
func ProductRate(ctx context.Context, device tensor.Device) (flops float64, err error) {
	const n = 2048
	r, err := product{n, n, n}.linear().Measure(ctx, device, nil)
	return r.GFLOPS * 1e9, err
}
