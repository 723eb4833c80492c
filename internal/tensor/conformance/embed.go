package conformance

import (
	"fmt"

	"github.com/sftseq/sftseq/internal/tensor"
)

func embed64(token []int, weight []float64, d int) []float64 {
	var y []float64
	for _, t := range token {
		y = append(y, weight[t*d:(t+1)*d]...)
	}
	return y
}

func embedBackward64(token []int, dy []float64, vocab, d int) []float64 {
	dw := zeros(vocab * d)
	for i, t := range token {
		for c := range d {
			dw[t*d+c] += dy[i*d+c]
		}
	}
	return dw
}

func init() { register("embed", embedCases) }

func embedCases(add func(...Case)) {
	for _, s := range []struct{ rows, vocab, d int }{{1, 1, 1}, {2, 9, 3}, {33, 4, 5}, {100, 17, 48}, {300, 2, 33}} {
		tokens := func(r *fixture) []int {
			x := make([]int, s.rows)
			for i := range x {
				x[i] = r.random.IntN(s.vocab)
			}
			return x
		}
		name := fmt.Sprintf("%d rows of %d, %d ids", s.rows, s.d, s.vocab)
		add(Case{"embed " + name, rows(s.rows), func(r *fixture) tensor.Kernel {
			token, w := tokens(r), r.fixed(s.vocab, s.d)
			y := r.want(r.out(tensor.Tokens, s.d), embed64(token, w.x, s.d), 0)
			return tensor.Embed{Y: y.Tensor, Token: r.list(tensor.Tokens, token).Tensor, Weight: w.Tensor}
		}}, Case{"embed_backward " + name, rows(s.rows), func(r *fixture) tensor.Kernel {
			token, dy, w := tokens(r), r.in(tensor.Tokens, s.d), r.fixed(s.vocab, s.d)
			grad := embedBackward64(token, dy.x, s.vocab, s.d)
			r.derivative(func() float64 { return product(dy.x, embed64(token, w.x, s.d)) }, pair{w.x, grad})
			dw := r.want(r.outFixed(s.vocab, s.d), grad, 2e-6)
			return tensor.EmbedBackward{DWeight: dw.Tensor, DY: dy.Tensor, Token: r.list(tensor.Tokens, token).Tensor}
		}})
	}
}
