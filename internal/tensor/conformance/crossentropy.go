package conformance

import (
	"fmt"
	"math"
	"slices"

	"github.com/sftseq/sftseq/internal/tensor"
)

func crossEntropy64(z []float64, label []int, n int) (loss, dz []float64) {
	for e, l := range label {
		row := z[e*n : (e+1)*n]
		top := slices.Max(row)
		var sum float64
		for _, v := range row {
			sum += math.Exp(v - top)
		}
		loss = append(loss, math.Log(sum)+top-row[l])
		for c, v := range row {
			g := math.Exp(v-top) / sum
			if c == l {
				g--
			}
			dz = append(dz, g)
		}
	}
	return loss, dz
}

func init() { register("crossentropy", crossEntropyCases) }

func crossEntropyCases(add func(...Case)) {
	for _, s := range []struct {
		rows, labels int
		size, scale  float64
	}{{1, 1, 1, 1}, {1, 2, 1, 1}, {3, 5, 10, 2.5}, {33, 10, 1, 1 << 15}, {20, 33, 200, 3e-5}, {5, 64, 10, 1},
		{3, 1003, 30, 1 << 15}} {
		// In the cases of examples, there are half as many examples as sequences, so that a kernel which
		// confuses the two axes processes the wrong number of rows.
		for _, on := range []struct {
			axis      tensor.Axis
			name      string
			sequences int
		}{{tensor.Examples, "examples", 2 * s.rows}, {tensor.Sequences, "sequences", s.rows}} {
			at := shape{lengths: slices.Repeat([]int{1}, on.sequences), k: 1}
			name := fmt.Sprintf("crossentropy %d %s, %d labels, logits of size %g, scale %g", s.rows, on.name,
				s.labels, s.size, s.scale)
			add(Case{name, at, func(r *fixture) tensor.Kernel {
				z := r.in(on.axis, s.labels)
				z.set(func(i int) float64 { return s.size * z.x[i] })
				scale := r.fixed(s.labels)
				scale.set(func(c int) float64 { return s.scale * float64(c%3) / 2 }) // zero for every third class
				label := make([]int, s.rows)
				for e := range label {
					label[e] = r.random.IntN(s.labels)
				}
				loss, dz := crossEntropy64(z.x, label, s.labels)
				for i := range dz {
					dz[i] *= scale.x[label[i/s.labels]]
				}
				r.derivative(func() float64 {
					loss, _ := crossEntropy64(z.x, label, s.labels)
					sum := 0.0
					for e, v := range loss {
						sum += scale.x[label[e]] * v
					}
					return sum
				}, pair{z.x, dz})
				return tensor.CrossEntropy{Loss: r.want(r.out(on.axis, 1), loss, 1e-6).Tensor,
					DLogits: r.want(r.out(on.axis, s.labels), dz, 1e-6).Tensor, Logits: z.Tensor,
					Label: r.list(on.axis, label).Tensor, Scale: scale.Tensor}
			}})
		}
	}
}
