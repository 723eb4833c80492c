package conformance

import (
	"fmt"
	"math"

	"github.com/sftseq/sftseq/internal/tensor"
	"github.com/sftseq/sftseq/sinusoid"
)

// tables64 returns the tables f and g [h, 2n−1] for weights [h, ds]. f begins at t = 1−n, and g
// begins at t = 0.
func tables64(weight, bias []float64, base float64, ds, n int) (f, g []float64) {
	for head, b := range bias {
		w := weight[head*ds : (head+1)*ds]
		entry := func(t int, sign float64) float64 {
			var s float64
			for c := range ds / 2 {
				s += (w[2*c+1] + sign*w[2*c]) * math.Cos(float64(t)*math.Pow(base, -2*float64(c)/float64(ds))) / 2
			}
			return s
		}
		for t := range 2*n - 1 {
			f = append(f, entry(t-n+1, 1)+b)
			g = append(g, entry(t, -1))
		}
	}
	return f, g
}

// exp64 returns entry i of table E, which holds the exponentials of Rmul's half of f, followed by
// the exponentials of Rmul's half of g.
func exp64(f, g []float64, i int) float64 {
	if half := len(f) / 2; i >= half {
		return math.Exp(g[i-half])
	}
	return math.Exp(f[i])
}

// tablesBackward64 returns the gradients of the weights and biases of tables64, given the gradients df
// and dg of the tables f and g.
func tablesBackward64(df, dg []float64, base float64, heads, ds, n int) (dw, db []float64) {
	dw, db = zeros(heads*ds), zeros(heads)
	for head := range heads {
		w := dw[head*ds : (head+1)*ds]
		for t := range 2*n - 1 {
			dF, dG := df[head*(2*n-1)+t], dg[head*(2*n-1)+t]
			db[head] += dF
			for c := range ds / 2 {
				omega := math.Pow(base, -2*float64(c)/float64(ds))
				f, g := dF*math.Cos(float64(t-n+1)*omega), dG*math.Cos(float64(t)*omega)
				w[2*c] += (f - g) / 2
				w[2*c+1] += (f + g) / 2
			}
		}
	}
	return dw, db
}

func init() { register("sinusoid", sinusoidCases) }

func sinusoidCases(add func(...Case)) {
	for _, s := range []struct {
		longest, heads, ds int
		base               float64
	}{{1, 1, 2, 10000}, {2, 3, 6, 100}, {33, 2, 20, 10000}, {257, 1, 48, 10000}, {300, 3, 2, 37}, {9000, 1, 8, 10000}} {
		q, err := sinusoid.New(s.base, s.ds)
		if err != nil {
			panic(err)
		}
		name := fmt.Sprintf("longest %d, %d heads, dimension %d", s.longest, s.heads, s.ds)
		width, used := 2*(s.longest+unusedRows), 2*s.longest-1
		lengths := shape{lengths: []int{1, s.longest}, k: 1}
		add(Case{"sinusoid " + name, lengths, func(r *fixture) tensor.Kernel {
			mul, add, mulBias, addBias := r.fixed(s.heads, s.ds), r.fixed(s.heads, s.ds),
				r.fixed(s.heads), r.fixed(s.heads)
			f, g := tables64(mul.x, mulBias.x, s.base, s.ds, s.longest)
			fa, ga := tables64(add.x, addBias.x, s.base, s.ds, s.longest)
			f, g = append(f, fa...), append(g, ga...)
			e := make([]float64, len(f))
			for i := range e {
				e[i] = exp64(f, g, i)
			}
			table := func(want []float64, tolerance float64) *tensor.Tensor {
				return r.want(r.outColumns(2*s.heads, width, used), want, tolerance).Tensor
			}
			return tensor.Sinusoid{
				F: table(f, 1e-6), G: table(g, 1e-6), E: table(e, 3e-6),
				MulWeight: mul.Tensor, AddWeight: add.Tensor, MulBias: mulBias.Tensor, AddBias: addBias.Tensor,
				Counts: r.program.Counts, Frequencies: q}
		}}, Case{"sinusoid_backward " + name, lengths, func(r *fixture) tensor.Kernel {
			df, dg := r.columns(2*s.heads, width, used), r.columns(2*s.heads, width, used)
			half := s.heads * used
			dmul, dmulBias := tablesBackward64(df.x[:half], dg.x[:half], s.base, s.heads, s.ds, s.longest)
			dadd, daddBias := tablesBackward64(df.x[half:], dg.x[half:], s.base, s.heads, s.ds, s.longest)
			w, b := r.fixed(s.heads, s.ds), r.fixed(s.heads) // only the finite differences read them
			r.derivative(func() float64 {
				f, g := tables64(w.x, b.x, s.base, s.ds, s.longest)
				return product(f, df.x[:half]) + product(g, dg.x[:half])
			}, pair{w.x, dmul}, pair{b.x, dmulBias})
			return tensor.SinusoidBackward{
				DMulWeight: r.want(r.outFixed(s.heads, s.ds), dmul, 3e-6).Tensor,
				DMulBias:   r.want(r.outFixed(s.heads), dmulBias, 2e-6).Tensor,
				DAddWeight: r.want(r.outFixed(s.heads, s.ds), dadd, 3e-6).Tensor,
				DAddBias:   r.want(r.outFixed(s.heads), daddBias, 2e-6).Tensor,
				DF:         df.Tensor, DG: dg.Tensor, Counts: r.program.Counts, Frequencies: q}
		}})
	}
}
