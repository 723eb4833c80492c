package conformance

import (
	"fmt"

	"github.com/sftseq/sftseq/internal/philox"
	"github.com/sftseq/sftseq/internal/tensor"
)

// dropout64 masks and scales the packed rows of each sequence. The parameter first holds the first row of
// each sequence, then the number of rows.
func dropout64(r *fixture, x []float64, first []int, width int, layer, stream uint32, rate float64) []float64 {
	y := zeros(len(x))
	for b := range r.shape.lengths {
		for row := range first[b+1] - first[b] {
			for c := range width {
				n := row*width + c
				counter := [4]uint32{uint32(n / 4), r.tower[b]<<31 | layer<<8 | stream, r.example[b], r.step}
				if uniform64(philox.Words(r.seed, counter)[n%4]) >= rate {
					y[first[b]*width+n] = x[first[b]*width+n] / (1 - rate)
				}
			}
		}
	}
	return y
}

func init() { register("dropout", dropoutCases) }

func dropoutCases(add func(...Case)) {
	for i, s := range []struct {
		axis  tensor.Axis
		width int
		rate  float32
	}{
		{tensor.Tokens, 1, 0.5}, {tensor.Tokens, 3, 0.1}, {tensor.Tokens, 5, 0.9}, {tensor.Tokens, 20, 0.1},
		{tensor.Tokens, 33, 0.2},
		{tensor.Sampled, 1, 0.5}, {tensor.Sampled, 5, 0.1}, {tensor.Sampled, 48, 0.3},
	} {
		for _, inPlace := range []bool{false, true} {
			name := fmt.Sprintf("dropout axis %d, width %d, rate %g, in place %v", s.axis, s.width, s.rate, inPlace)
			add(Case{name, shape{[]int{1, 2, 31, 32, 33, 100, 64}, 20}, func(r *fixture) tensor.Kernel {
				layer, stream := uint32(3*i), uint32(4+i%5)
				x := r.in(s.axis, s.width)
				y := x
				if inPlace {
					x = r.inOut(s.axis, s.width)
					y = x
				} else {
					y = r.out(s.axis, s.width)
				}
				first := r.offset
				if s.axis == tensor.Sampled {
					first = r.sampled
				}
				r.want(y, dropout64(r, x.x, first, s.width, layer, stream, float64(s.rate)), 2e-7)
				return tensor.Dropout{Y: y.Tensor, X: x.Tensor, Batch: r.batch, Layer: layer,
					Stream: stream, Rate: s.rate}
			}})
		}
	}
}
