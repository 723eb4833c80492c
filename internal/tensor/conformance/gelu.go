package conformance

import (
	"fmt"
	"math"

	"github.com/sftseq/sftseq/internal/tensor"
)

func gelu64(x []float64) []float64 {
	var y []float64
	for _, v := range x {
		y = append(y, v*math.Erfc(-v/math.Sqrt2)/2)
	}
	return y
}

func geluBackward64(dy, x []float64) []float64 {
	var dx []float64
	for i, v := range x {
		dx = append(dx, dy[i]*(math.Erfc(-v/math.Sqrt2)/2+v*math.Exp(-v*v/2)/math.Sqrt(2*math.Pi)))
	}
	return dx
}

func init() { register("gelu", geluCases) }

func geluCases(add func(...Case)) {
	for _, s := range []struct {
		rows, n int
		scale   float64
	}{{1, 1, 1}, {2, 3, 5}, {31, 5, 1}, {33, 20, 1}, {100, 33, 20}, {257, 48, 2}} {
		for _, mode := range []string{"", "_backward", "_backward in place", "_backward over x"} {
			name := fmt.Sprintf("gelu%s %d rows of %d, size %g", mode, s.rows, s.n, s.scale)
			add(Case{name, rows(s.rows), func(r *fixture) tensor.Kernel {
				x := r.in(tensor.Tokens, s.n)
				if mode == "_backward over x" {
					x = r.inOut(tensor.Tokens, s.n)
				}
				x.set(func(i int) float64 { return s.scale * x.x[i] })
				if mode == "" {
					return tensor.GELU{Y: r.want(r.out(tensor.Tokens, s.n), gelu64(x.x), 5e-7).Tensor, X: x.Tensor}
				}
				dy := r.in(tensor.Tokens, s.n)
				if mode == "_backward in place" {
					dy = r.inOut(tensor.Tokens, s.n)
				}
				grad := geluBackward64(dy.x, x.x)
				r.derivative(func() float64 { return product(dy.x, gelu64(x.x)) }, pair{x.x, grad})
				dx := dy
				switch {
				case mode == "_backward over x":
					dx = x
				case !dy.written:
					dx = r.out(tensor.Tokens, s.n)
				}
				r.want(dx, grad, 1e-6)
				return tensor.GELUBackward{DX: dx.Tensor, DY: dy.Tensor, X: x.Tensor}
			}})
		}
	}
}
