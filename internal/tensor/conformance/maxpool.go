package conformance

import (
	"fmt"
	"math"

	"github.com/sftseq/sftseq/internal/tensor"
)

// maxPool64 returns the maximum of each channel over the first count[b] rows of each sequence b. arg is
// the index of the row with the maximum, counted from the first row of the sequence, first[b].
func maxPool64(first, count []int, x []float64, d int) (y []float64, arg []int) {
	for b, lo := range first[:len(count)] {
		for c := range d {
			best := 0
			for i := range count[b] {
				v, maximum := x[(lo+i)*d+c], x[(lo+best)*d+c]
				if v > maximum || math.IsNaN(v) && !math.IsNaN(maximum) {
					best = i
				}
			}
			y, arg = append(y, x[(lo+best)*d+c]), append(arg, best)
		}
	}
	return y, arg
}

func maxPoolBackward64(first []int, dy []float64, arg []int, d int) []float64 {
	dx := zeros(first[len(first)-1] * d)
	for at, i := range arg {
		dx[(first[at/d]+i)*d+at%d] = dy[at]
	}
	return dx
}

func init() { register("maxpool", maxPoolCases) }

func maxPoolCases(add func(...Case)) {
	lengths := []int{1, 2, 31, 32, 33, 100, 257, 300}
	for _, s := range []struct {
		d, k int // k = 0 pools over all tokens
		ties bool
	}{{1, 0, false}, {3, 20, false}, {20, 0, true}, {33, 150, false}, {64, 1, false}, {70, 400, true}, {48, 32, true}} {
		at := shape{lengths, max(1, s.k)}
		name := fmt.Sprintf("%d channels, at most %d rows, ties %v", s.d, s.k, s.ties)
		add(Case{"maxpool " + name, at, func(r *fixture) tensor.Kernel {
			p := newMaxPool(r, s.k)
			x := p.input(r, s.d)
			if s.ties { // including −0 and 0, and channels without a positive value
				values := [][]float64{{0, math.Copysign(0, -1)}, {-3, -2, -1}, {-1, 0, 2}}
				x.set(func(i int) float64 {
					if math.IsNaN(x.x[i]) {
						return x.x[i]
					}
					channelValues := values[i%s.d%len(values)]
					return channelValues[int(math.Abs(x.x[i])*1e3)%len(channelValues)]
				})
			}
			y, arg := maxPool64(p.first, p.count, x.x, s.d)
			out := r.want(r.out(tensor.Sequences, s.d), floats(arg), 0)
			out.ints, out.Int = true, true
			return tensor.MaxPool{Y: r.want(r.out(tensor.Sequences, s.d), y, 0).Tensor, Arg: out.Tensor, X: x.Tensor,
				First: p.offset, Count: p.counts}
		}}, Case{"maxpool_backward " + name, at, func(r *fixture) tensor.Kernel {
			p := newMaxPool(r, s.k)
			x := make([]float64, p.first[len(lengths)]*s.d)
			for i := range x {
				x[i] = r.random.NormFloat64()
			}
			_, arg := maxPool64(p.first, p.count, x, s.d)
			dy, from := r.in(tensor.Sequences, s.d), r.in(tensor.Sequences, s.d)
			from.ints = true
			from.set(func(i int) float64 { return float64(arg[i]) })
			dx := maxPoolBackward64(p.first, dy.x, arg, s.d)
			r.derivative(func() float64 {
				y, _ := maxPool64(p.first, p.count, x, s.d)
				return product(dy.x, y)
			}, pair{x, dx})
			return tensor.MaxPoolBackward{DX: r.want(r.out(p.rows, s.d), dx, 0).Tensor, DY: dy.Tensor,
				Arg: from.Tensor, First: p.offset}
		}})
	}
	add(Case{"maxpool of numbers and NaN", shape{lengths, 1}, func(r *fixture) tensor.Kernel {
		p := newMaxPool(r, 0)
		x := r.in(p.rows, 5)
		x.set(func(i int) float64 {
			if r.random.IntN(40) == 0 {
				return math.NaN()
			}
			return x.x[i]
		})
		want, arg := maxPool64(p.first, p.count, x.x, 5)
		y, out := r.out(tensor.Sequences, 5), r.want(r.out(tensor.Sequences, 5), floats(arg), 0)
		y.unchecked, out.ints, out.Int = true, true, true
		r.check(func() error {
			for i, v := range want {
				if y.got[i] != v && !(math.IsNaN(v) && math.IsNaN(y.got[i])) {
					return fmt.Errorf("sequence %d, channel %d: %v, expected %v", i/5, i%5, y.got[i], v)
				}
			}
			return nil
		})
		return tensor.MaxPool{Y: y.Tensor, Arg: out.Tensor, X: x.Tensor, First: p.offset}
	}})
}

// maxPool describes the rows of a case.
type maxPool struct {
	rows   tensor.Axis
	first  []int // first row of each sequence, then the number of rows
	count  []int // number of rows of each sequence
	offset *tensor.Tensor
	counts *tensor.Tensor // nil means all rows
	sel    selection
}

// newMaxPool returns the rows for pooling over the sampled rows of a selection, or over all tokens
// if k is 0.
func newMaxPool(r *fixture, k int) maxPool {
	if k == 0 {
		return maxPool{rows: tensor.Tokens, first: r.offset, count: r.shape.lengths, offset: r.batch.Offset}
	}
	sel := r.selection()
	return maxPool{tensor.Sampled, r.sampled, sel.count, r.batch.SampleOffset,
		r.list(tensor.Sequences, sel.count).Tensor, sel}
}

// input declares X, with NaN in unused rows.
func (p maxPool) input(r *fixture, d int) *operand {
	if p.counts == nil {
		return r.in(p.rows, d)
	}
	return r.sampledIn(p.sel, d)
}

func floats(x []int) (y []float64) {
	for _, v := range x {
		y = append(y, float64(v))
	}
	return y
}
