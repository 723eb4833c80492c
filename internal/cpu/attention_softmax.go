package cpu

import (
	"math"

	"github.com/sftseq/sftseq/internal/fmath"
)

// softmaxTile computes softmax attention for a tile of queries. It subtracts the running maximum,
// and rescales earlier sums when the maximum grows.
func (a *attentionRun) softmaxTile(t queries) {
	f := newForwardScratch(t.worker, t.stride, a.dh)
	a.loadQueries(t, f.q)
	lo, end := a.keys(t.b)
	clear(f.sum)
	clear(f.out)
	oldMax, newMax := f.oldMax, f.newMax[:t.n]
	for r := range oldMax {
		oldMax[r] = float32(math.Inf(-1))
	}
	for at := lo; at < end; at += keyTile {
		keys := min(end-at, keyTile)
		a.prefetch(t, at, a.o, a.q)
		a.scores(t, f.s, f.q, a.head(a.k, at, t.head), a.d, keys)
		a.relativeBias.forward(t, at, keys, f.s, float32(math.Inf(-1)), f.part)
		copy(newMax, oldMax)
		for j := range keys {
			for r, v := range f.s[j*t.stride:][:t.n] {
				newMax[r] = max(newMax[r], v)
			}
		}
		for r, v := range newMax {
			f.part[r] = oldMax[r] - v
			oldMax[r] = v
		}
		rescale := f.part[:t.n]
		t.kernels.Exp(rescale, rescale)
		t.kernels.ScaleRows(f.sum, t.stride, 1, t.n, rescale)
		t.kernels.ScaleRows(f.out, t.stride, a.dh, t.n, rescale)
		clear(f.part)
		for j := range keys {
			row := f.s[j*t.stride:][:t.n]
			for r, v := range row {
				row[r] = v - newMax[r]
			}
			t.kernels.Exp(row, row)
			a.run.addTo(f.part[:t.n], row)
		}
		a.run.addTo(f.sum[:t.n], f.part[:t.n])
		a.addValues(t, &f, at, keys)
	}
	for r, v := range f.sum[:t.n] {
		if r >= t.skip {
			a.norm[(t.row+r)*a.Heads+t.head] = f.oldMax[r] + fmath.Log(v)
		}
		f.sum[r] = 1 / v
	}
	a.storeOutput(t, &f)
}
