package conformance

import (
	"fmt"

	"github.com/sftseq/sftseq/internal/tensor"
)

func leak64(s selection, c []float64, heads int) []float64 {
	y := zeros(len(s.count) * heads)
	for j, used := range s.inUse {
		for n := range heads {
			if used {
				y[s.sequence[j]*heads+n] += softplus64(c[j*heads+n])
			}
		}
	}
	return y
}

func leakBackward64(s selection, dy, c []float64, heads int) []float64 {
	dc := zeros(len(c))
	for j, used := range s.inUse {
		for n := range heads {
			if used {
				dc[j*heads+n] = dy[s.sequence[j]*heads+n] * sigmoid64(c[j*heads+n])
			}
		}
	}
	return dc
}

func init() { register("leak", leakCases) }

func leakCases(add func(...Case)) {
	for _, s := range []struct{ k, heads int }{{1, 1}, {20, 3}, {32, 5}, {270, 2}, {400, 1}} {
		at := shape{[]int{1, 2, 31, 100, 300, 33}, s.k}
		name := fmt.Sprintf("k %d, %d heads", s.k, s.heads)
		inputs := func(r *fixture) (selection, *operand) {
			sel := r.selection()
			c := r.sampledIn(sel, s.heads)
			c.set(func(i int) float64 { return 5 * c.x[i] })
			return sel, c
		}
		add(Case{"leak " + name, at, func(r *fixture) tensor.Kernel {
			sel, c := inputs(r)
			return tensor.Leak{Y: r.want(r.out(tensor.Sequences, s.heads), leak64(sel, c.x, s.heads), 1e-6).Tensor,
				C: c.Tensor, Count: r.list(tensor.Sequences, sel.count).Tensor, Batch: r.batch}
		}}, Case{"leak_backward " + name, at, func(r *fixture) tensor.Kernel {
			sel, c := inputs(r)
			dy := r.in(tensor.Sequences, s.heads)
			dc := leakBackward64(sel, dy.x, c.x, s.heads)
			r.derivative(func() float64 { return product(dy.x, leak64(sel, c.x, s.heads)) }, pair{c.x, dc})
			return tensor.LeakBackward{DC: r.want(r.out(tensor.Sampled, s.heads), dc, 5e-7).Tensor,
				DY: dy.Tensor, C: c.Tensor, Count: r.list(tensor.Sequences, sel.count).Tensor, Batch: r.batch}
		}})
	}
}
