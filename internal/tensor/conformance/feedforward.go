package conformance

import (
	"fmt"

	"github.com/sftseq/sftseq/internal/tensor"
)

func init() { register("feedforward", feedForwardCases) }

func feedForwardCases(add func(...Case)) {
	for _, s := range []struct{ rows, d, hidden int }{
		{1, 1, 1}, {2, 3, 5}, {31, 20, 33}, {100, 5, 48}, {257, 16, 20}, {85, 33, 300},
		{90, 1024, 5}, // rows are 4 KiB apart
	} {
		name := fmt.Sprintf("feedforward %d rows, width %d, hidden width %d", s.rows, s.d, s.hidden)
		add(Case{name, rows(s.rows), func(r *fixture) tensor.Kernel {
			x := r.in(tensor.Tokens, s.d)
			w1, b1, w2, b2 := r.fixed(s.hidden, s.d), r.fixed(s.hidden), r.fixed(s.d, s.hidden), r.fixed(s.d)
			y := linear64(gelu64(linear64(x.x, w1.x, b1.x, s.d, s.hidden)), w2.x, b2.x, s.hidden, s.d)
			return tensor.FeedForward{Y: r.want(r.out(tensor.Tokens, s.d), y, 5e-6).Tensor, X: x.Tensor,
				Weight1: w1.Tensor, Bias1: b1.Tensor, Weight2: w2.Tensor, Bias2: b2.Tensor}
		}})
	}
}
