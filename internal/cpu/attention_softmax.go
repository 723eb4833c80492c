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
	old, top := f.top, f.next[:t.n]
	for r := range old {
		old[r] = float32(math.Inf(-1))
	}
	for at := lo; at < end; at += keyTile {
		keys := min(end-at, keyTile)
		a.lookAhead(t, at, a.o, a.q)
		a.scores(t, f.s, f.q, a.head(a.k, at, t.head), a.d, keys)
		a.relativeBias.forward(t, at, keys, f.s, float32(math.Inf(-1)), f.part)
		copy(top, old)
		for j := range keys {
			for r, v := range f.s[j*t.stride:][:t.n] {
				top[r] = max(top[r], v)
			}
		}
		for r, v := range top {
			f.part[r] = old[r] - v
			old[r] = v
		}
		shrink := f.part[:t.n]
		t.kernels.Exp(shrink, shrink)
		t.kernels.ScaleRows(f.sum, t.stride, 1, t.n, shrink)
		t.kernels.ScaleRows(f.out, t.stride, a.dh, t.n, shrink)
		clear(f.part)
		for j := range keys {
			row := f.s[j*t.stride:][:t.n]
			for r, v := range row {
				row[r] = v - top[r]
			}
			t.kernels.Exp(row, row)
			a.run.addTo(f.part[:t.n], row)
		}
		a.run.addTo(f.sum[:t.n], f.part[:t.n])
		a.weigh(t, &f, at, keys)
	}
	for r, v := range f.sum[:t.n] {
		if r >= t.skip {
			a.norm[(t.row+r)*a.Heads+t.head] = f.top[r] + fmath.Log(v)
		}
		f.sum[r] = 1 / v
	}
	a.storeOutput(t, &f)
}
