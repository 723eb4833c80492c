package cpu

import (
	"sftseq/internal/tensor"
	"sftseq/sinusoid"
)

// tables is the part of one launch that both directions share: which entries
// are in use, cut into tiles.
type tables struct {
	*sinusoid.Frequencies
	rows    int // 2h: Rmul's heads, then Radd's
	longest int // F has as many entries in use, G 2·longest − 1
	tiles   int
}

func newTables(r *run, q *sinusoid.Frequencies, counts, f *tensor.Tensor) tables {
	n := int(r.ints(counts)[tensor.CountLongest])
	return tables{q, f.Shape[0], n, (2*n - 1 + sinusoid.Tile - 1) / sinusoid.Tile}
}

// dim is the dimension of the encoding: the words of one row of weights.
func (t tables) dim() int { return 2 * t.Len() }

// tile returns the entries of tile i in use, and their cosines.
func (t tables) tile(w *worker, i int, f, g []float32, nf, ng int) (rf, rg sinusoid.Rows, cosines, scratch []float32) {
	t0 := i * sinusoid.Tile
	n := min(sinusoid.Tile, 2*t.longest-1-t0)
	memory := w.floats((n + 1) * t.Len())
	cosines, scratch = memory[:n*t.Len()], memory[n*t.Len():]
	t.Cosines(cosines, t0, n)
	rg = sinusoid.Rows{Data: g[t0:], Stride: ng, N: n}
	if t0 < t.longest {
		rf = sinusoid.Rows{Data: f[t0:], Stride: nf, N: min(n, t.longest-t0)}
	}
	return rf, rg, cosines, scratch
}

func sinusoidTables(r *run, k tensor.SinusoidTables) {
	t := newTables(r, k.Frequencies, k.Counts, k.F)
	f, g := r.floats(k.F), r.floats(k.G)
	coef := make([]float32, t.rows*t.dim())
	t.Fold(coef, append(append([]float32{}, r.floats(k.MulWeight)...), r.floats(k.AddWeight)...))
	bias := append(append([]float32{}, r.floats(k.MulBias)...), r.floats(k.AddBias)...)
	r.each(t.tiles, func(w *worker, i int) {
		rf, rg, cosines, _ := t.tile(w, i, f, g, k.F.Width(), k.G.Width())
		t.Tables(rf, rg, coef, bias, cosines)
	})
}

func sinusoidTablesBackward(r *run, k tensor.SinusoidTablesBackward) {
	t := newTables(r, k.Frequencies, k.Counts, k.DF)
	df, dg := r.floats(k.DF), r.floats(k.DG)
	size := t.rows * (t.dim() + 1) // one tile's gradients of coefficients and biases
	partial := make([]float32, (t.tiles+1)*size)
	r.each(t.tiles, func(w *worker, i int) {
		rf, rg, cosines, scratch := t.tile(w, i, df, dg, k.DF.Width(), k.DG.Width())
		part := partial[(i+1)*size:][:size]
		t.Adjoint(part[:t.rows*t.dim()], part[t.rows*t.dim():], rf, rg, cosines, scratch)
	})
	total := partial[:size]
	for i := range t.tiles {
		addTo(total, partial[(i+1)*size:][:size])
	}
	weight := make([]float32, t.rows*t.dim())
	t.Unfold(weight, total[:len(weight)])
	half := len(weight) / 2
	copy(r.floats(k.DMulWeight), weight[:half])
	copy(r.floats(k.DAddWeight), weight[half:])
	bias := total[len(weight):]
	copy(r.floats(k.DMulBias), bias[:t.rows/2])
	copy(r.floats(k.DAddBias), bias[t.rows/2:])
}
