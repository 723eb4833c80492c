package conformance

import (
	"fmt"
	"math"

	"sftseq/internal/tensor"
	"sftseq/sinusoid"
)

// tables64 are the tables of heads rows of weights [h, ds]:
// f [h, n] and g [h, 2n−1].
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
		for t := range n {
			f = append(f, entry(t, 1)+b)
		}
		for t := range 2*n - 1 {
			g = append(g, entry(t, -1))
		}
	}
	return f, g
}

// tablesBackward64 is its adjoint, for the heads of df.
func tablesBackward64(df, dg []float64, base float64, heads, ds, n int) (dw, db []float64) {
	dw, db = zeros(heads*ds), zeros(heads)
	for head := range heads {
		w := dw[head*ds : (head+1)*ds]
		for t := range 2*n - 1 {
			dG, dF := dg[head*(2*n-1)+t], 0.0
			if t < n {
				dF = df[head*n+t]
				db[head] += dF
			}
			for c := range ds / 2 {
				cos := math.Cos(float64(t) * math.Pow(base, -2*float64(c)/float64(ds)))
				w[2*c] += (dF - dG) * cos / 2
				w[2*c+1] += (dF + dG) * cos / 2
			}
		}
	}
	return dw, db
}

func sinusoidCases() []Case {
	var cases []Case
	for _, s := range []struct {
		longest, heads, ds int
		base               float64
	}{{1, 1, 2, 10000}, {2, 3, 6, 100}, {33, 2, 20, 10000}, {257, 1, 48, 10000}, {300, 3, 2, 37}, {9000, 1, 8, 10000}} {
		q, err := sinusoid.New(s.base, s.ds)
		if err != nil {
			panic(err)
		}
		name := fmt.Sprintf("longest %d, %d heads, dimension %d", s.longest, s.heads, s.ds)
		wide := s.longest + spare
		lengths := shape{lengths: []int{1, s.longest}, k: 1}
		cases = append(cases, Case{"sinusoid " + name, lengths, func(r *rig) tensor.Kernel {
			mul, add, mulBias, addBias := r.fixed(s.heads, s.ds), r.fixed(s.heads, s.ds), r.fixed(s.heads), r.fixed(s.heads)
			f, g := tables64(mul.x, mulBias.x, s.base, s.ds, s.longest)
			fa, ga := tables64(add.x, addBias.x, s.base, s.ds, s.longest)
			return tensor.SinusoidTables{
				F:         r.want(r.outColumns(2*s.heads, wide, s.longest), append(f, fa...), 1e-6).Tensor,
				G:         r.want(r.outColumns(2*s.heads, 2*wide, 2*s.longest-1), append(g, ga...), 1e-6).Tensor,
				MulWeight: mul.Tensor, AddWeight: add.Tensor, MulBias: mulBias.Tensor, AddBias: addBias.Tensor,
				Counts: r.program.Counts, Frequencies: q}
		}}, Case{"sinusoid_backward " + name, lengths, func(r *rig) tensor.Kernel {
			df, dg := r.columns(2*s.heads, wide, s.longest), r.columns(2*s.heads, 2*wide, 2*s.longest-1)
			nf, ng := s.heads*s.longest, s.heads*(2*s.longest-1)
			dmul, dmulBias := tablesBackward64(df.x[:nf], dg.x[:ng], s.base, s.heads, s.ds, s.longest)
			dadd, daddBias := tablesBackward64(df.x[nf:], dg.x[ng:], s.base, s.heads, s.ds, s.longest)
			w, b := r.fixed(s.heads, s.ds), r.fixed(s.heads) // only the differences read them
			r.derivative(func() float64 {
				f, g := tables64(w.x, b.x, s.base, s.ds, s.longest)
				return product(f, df.x[:nf]) + product(g, dg.x[:ng])
			}, pair{w.x, dmul}, pair{b.x, dmulBias})
			return tensor.SinusoidTablesBackward{
				DMulWeight: r.want(r.outFixed(s.heads, s.ds), dmul, 3e-6).Tensor, DMulBias: r.want(r.outFixed(s.heads), dmulBias, 2e-6).Tensor,
				DAddWeight: r.want(r.outFixed(s.heads, s.ds), dadd, 3e-6).Tensor, DAddBias: r.want(r.outFixed(s.heads), daddBias, 2e-6).Tensor,
				DF: df.Tensor, DG: dg.Tensor, Counts: r.program.Counts, Frequencies: q}
		}})
	}
	return cases
}
