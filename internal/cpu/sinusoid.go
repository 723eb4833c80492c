package cpu

import (
	"github.com/sftseq/sftseq/internal/simd"
	"github.com/sftseq/sftseq/internal/tensor"
	"github.com/sftseq/sftseq/sinusoid"
)

func init() { register(whole(sinusoidTables), whole(sinusoidTablesBackward)) }

// tables holds the sizes and functions that a forward or backward launch needs. F and G are computed as one
// matrix product [2·rows, t] of coefficients [2·rows, terms] and cosines [terms, t]. For each table row, the
// product has a row for F followed by a row for G. The product is split into tiles along t.
type tables struct {
	*sinusoid.Frequencies
	*simd.Products
	exp     func(y, x []float32)
	cache   *cosineCache
	rows    int // rows of F, 2h: the heads for Rmul, then the heads for Radd
	terms   int // number of frequencies, plus 1 for the bias
	longest int
	width   int // width of a row of F, G or E
}

func newTables(r *run, q *sinusoid.Frequencies, counts, f *tensor.Tensor) *tables {
	return &tables{
		Frequencies: q, Products: &r.device.simd.Products, exp: r.device.simd.Exp, cache: &r.device.cosines,
		rows: f.Shape[0], terms: q.Len() + 1, longest: int(r.ints(counts)[tensor.CountLongest]), width: f.Width(),
	}
}

// tiles returns the number of tiles for the 2·longest − 1 entries of G.
func (t *tables) tiles() int { return (2*t.longest - 1 + cosineTile - 1) / cosineTile }

// tile returns the first value of t in tile i, and the numbers of entries of F and G in the tile.
func (t *tables) tile(i int) (t0, nf, ng int) {
	t0 = i * cosineTile
	return t0, max(0, min(cosineTile, t.longest-t0)), min(cosineTile, 2*t.longest-1-t0)
}

// row returns the entries in use of row i of a table.
func (t *tables) row(table []float32, i int) []float32 { return table[i*t.width:][:2*t.longest-1] }

// scratch returns memory for one tile: y for the tile's columns of F and G, cosines for its cosines (unused
// if they are cached), and rest for other uses. The parameter more is the length of rest.
func (t *tables) scratch(w *worker, more int) (y, cosines, rest []float32) {
	ny, nc := 2*t.rows*cosineTile, t.terms*cosineTile
	memory := w.floats(ny + nc + more)
	return memory[:ny], memory[ny : ny+nc], memory[ny+nc:]
}

func sinusoidTables(r *run, k tensor.Sinusoid) {
	t := newTables(r, k.Frequencies, k.Counts, k.F)
	coef := make([]float32, 2*t.rows*t.terms)
	t.Fold(coef, r.floats(k.MulWeight), r.floats(k.MulBias))
	t.Fold(coef[len(coef)/2:], r.floats(k.AddWeight), r.floats(k.AddBias))
	f, g, e := r.floats(k.F), r.floats(k.G), r.floats(k.E)
	r.parallel(t.tiles(), func(w *worker, i int) { t.fill(w, i, f, g, e, coef) })
}

// fill computes tile i of the tables.
func (t *tables) fill(w *worker, i int, f, g, e, coef []float32) {
	y, cosines, _ := t.scratch(w, 0)
	t0, nf, ng := t.tile(i)
	b := t.View(t.cache.tile(t.Frequencies, i, cosines), cosineTile, t.terms, ng)
	clear(y)
	if nf > 0 {
		c := simd.Rows(y, cosineTile)
		t.Mul(c, simd.Rows(coef, t.terms), b, c, 2*t.rows)
	} else { // only G: every second row
		c := simd.Rows(y[cosineTile:], 2*cosineTile)
		t.Mul(c, simd.Rows(coef[t.terms:], 2*t.terms), b, c, t.rows)
	}
	heads := t.rows / 2
	for row := range t.rows {
		yf, yg := y[2*row*cosineTile:][:nf], y[(2*row+1)*cosineTile:][:ng]
		t.mirror(t.row(f, row), t0, yf)
		copy(t.row(g, row)[t0:], yg)
		if row < heads {
			t.exp(yf, yf)
			t.exp(yg, yg)
			t.mirror(t.row(e, row), t0, yf)
			copy(t.row(e, heads+row)[t0:], yg)
		}
	}
}

// mirror stores y, the values of an even function from t0 on, on both sides of the row's centre.
func (t *tables) mirror(row []float32, t0 int, y []float32) {
	zero := t.longest - 1
	for i, v := range y {
		row[zero+t0+i] = v
		row[zero-t0-i] = v
	}
}

// adjointParts is the maximum number of partial sums in the backward pass, each over whole tiles.
// Each partial sum is computed by a single thread, so the results do not depend on the number of
// threads.
const adjointParts = 32

func sinusoidTablesBackward(r *run, k tensor.SinusoidBackward) {
	t := newTables(r, k.Frequencies, k.Counts, k.DF)
	df, dg := r.floats(k.DF), r.floats(k.DG)
	tiles, size := t.tiles(), 2*t.rows*t.terms
	parts := min(tiles, adjointParts)
	sums := make([]float32, parts*size)
	r.parallel(parts, func(w *worker, p int) {
		for i := p * tiles / parts; i < (p+1)*tiles/parts; i++ {
			t.fold(w, i, sums[p*size:][:size], df, dg)
		}
	})
	total := sums[:size]
	for p := 1; p < parts; p++ {
		r.addTo(total, sums[p*size:][:size])
	}
	coef := make([]float32, size)
	for i := range coef {
		coef[i] = total[i%t.terms*2*t.rows+i/t.terms]
	}
	t.Unfold(r.floats(k.DMulWeight), r.floats(k.DMulBias), coef[:size/2])
	t.Unfold(r.floats(k.DAddWeight), r.floats(k.DAddBias), coef[size/2:])
}

// fold adds tile i's part of the gradient of the coefficients to sum [terms, 2·rows]. The part is the
// product of the cosines [terms, t] and the transpose of dy [2·rows, t].
func (t *tables) fold(w *worker, i int, sum, df, dg []float32) {
	dy, cosines, packed := t.scratch(w, t.PackedSize(cosineTile, 2*t.rows))
	t0, nf, ng := t.tile(i)
	for row := range t.rows {
		yf, yg := dy[2*row*cosineTile:][:cosineTile], dy[(2*row+1)*cosineTile:]
		copy(yg, t.row(dg, row)[t0:][:ng])
		clear(yf)
		d, zero := t.row(df, row), t.longest-1
		for i := range nf {
			yf[i] = d[zero+t0+i]
			if t0+i > 0 {
				yf[i] += d[zero-t0-i]
			}
		}
	}
	b := t.Pack(packed, simd.Matrix{Data: dy, Row: 1, Col: cosineTile}, ng, 2*t.rows)
	c := simd.Rows(sum, 2*t.rows)
	t.Mul(c, simd.Rows(t.cache.tile(t.Frequencies, i, cosines), cosineTile), b, c, t.terms)
}
