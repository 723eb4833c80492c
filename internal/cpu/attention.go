package cpu

import (
	"math"
	"sort"
	"sync/atomic"

	"github.com/sftseq/sftseq/internal/simd"
	"github.com/sftseq/sftseq/internal/tensor"
)

func init() { register(whole(attention)) }

const (
	queryTile = 128 // maximum queries per tile; they share the work on each key and its windows of the bias tables
	keyTile   = 64  // maximum keys per tile; their scores are in memory together
	sumKeys   = 256 // keys whose contributions are summed before the sum is added to the total, except in softmaxTile
)

// The mean and the inverse standard deviation of max(q, k) for standard normal q and k.
var (
	standardMean  = float32(1 / math.Sqrt(math.Pi))
	standardScale = float32(1 / math.Sqrt(1-1/math.Pi))
)

// attentionRun holds the operands and sizes of a forward launch, or of the forward part of a backward
// launch.
type attentionRun struct {
	tensor.Attention
	sequences
	run                    *run
	q, k, v, o, norm, leak []float32
	values                 []float32 // [heads, sampled rows, dh] values v, grouped by head; forward only
	count                  []int32
	deadRows               *int32
	relativeBias           relativeBias
	d, dh                  int
	scale                  float32
	lanes                  int // queries that the kernels process together: two vectors
}

func newAttentionRun(r *run, k tensor.Attention, grad tensor.RelativeBiasGradient) *attentionRun {
	a := &attentionRun{
		Attention: k, sequences: r.sequences(k.Batch), run: r,
		q: r.floats(k.Q), k: r.floats(k.K), v: r.floats(k.V), o: r.floats(k.O), norm: r.floats(k.Norm),
		count: r.ints(k.Count),
		d:     k.Q.Width(), dh: k.Q.Width() / k.Heads,
		lanes: 2 * r.device.simd.Width,
	}
	a.scale = float32(1 / math.Sqrt(float64(a.dh)))
	if k.Leak != nil {
		a.leak = r.floats(k.Leak)
	}
	a.relativeBias = newRelativeBias(a, k.RelativeBias, grad)
	return a
}

// leakOf returns the leak of a head for sequence b, or 0 if the attention has no leak.
func (a *attentionRun) leakOf(b, head int) float32 {
	if a.leak == nil {
		return 0
	}
	return a.leak[b*a.Heads+head]
}

// head returns the part of x [rows, d] that begins with the head's first channel in packed row j.
func (a *attentionRun) head(x []float32, j, head int) []float32 { return x[j*a.d+head*a.dh:] }

// keys returns the range of packed rows that hold the sampled keys of sequence b.
func (a *attentionRun) keys(b int) (lo, end int) {
	lo, _ = a.sampled(b)
	end = lo + int(a.count[b])
	_ = a.k[lo*a.d : end*a.d : len(a.k)] // checks the range: the number of keys determines memory and addresses
	return lo, end
}

// queries is a tile of queries of one sequence and head. The kernels process groups of
// attentionRun.lanes queries, so a partial last tile begins early and overlaps the previous tile. The
// results of the overlapping queries are discarded. Sequences with fewer tokens than lanes use the
// kernels in Go.
type queries struct {
	b, head  int
	row      int // packed row of the first query
	position int // position of the first query in the sequence
	n, skip  int // number of queries, number of leading queries with discarded results
	stride   int // floats between the scores of consecutive keys
	kernels  *simd.Kernels
	worker   *worker
}

// tiles returns the number of tiles of a sequence of n queries.
func (a *attentionRun) tiles(n int) int {
	if n > a.lanes && n < queryTile && n%a.lanes > 0 {
		return 2 // the first tile cannot begin earlier
	}
	return (n + queryTile - 1) / queryTile
}

// tile returns tile i of a head of sequence b.
func (a *attentionRun) tile(w *worker, b, head, i int) queries {
	lo, hi := a.tokens(b)
	length := hi - lo
	from, to := i*queryTile, min(length, (i+1)*queryTile)
	if a.tiles(length) == 2 && length < queryTile {
		whole := length / a.lanes * a.lanes
		from, to = i*whole, whole+i*(length-whole)
	}
	t := queries{b: b, head: head, kernels: a.run.device.simd, worker: w}
	if length < a.lanes {
		t.n, t.kernels = length, simd.Go()
	} else {
		t.n = roundUp(to-from, a.lanes)
		t.position = to - t.n
		t.skip = from - t.position
	}
	t.row = lo + t.position
	t.stride = roundUp(t.n, a.lanes) + 16
	return t
}

// forwardScratch is a worker's memory for one tile.
type forwardScratch struct {
	s              []float32 // [keyTile, stride] scores A, then the numerators of the probabilities
	q              []float32 // [dh, stride] the queries, transposed
	out            []float32 // [dh, stride] Σ P v, transposed
	sum, part      []float32 // [stride] Σ of the numerators: total, and sum over a block of keys
	oldMax, newMax []float32 // [stride] softmax: maximum score before and after a tile of keys
}

func newForwardScratch(w *worker, stride, dh int) forwardScratch {
	next := carve(w.floats(keyTile*stride + 2*dh*stride + 4*stride))
	return forwardScratch{s: next(keyTile * stride), q: next(dh * stride), out: next(dh * stride),
		sum: next(stride), part: next(stride), oldMax: next(stride), newMax: next(stride)}
}

func attention(r *run, k tensor.Attention) {
	a := newAttentionRun(r, k, nil)
	a.packValues()
	if k.DeadRows != nil {
		a.deadRows = &r.ints(k.DeadRows)[0]
		*a.deadRows = 0
	}
	if k.Probability == tensor.Softmax {
		a.eachTile(a.softmaxTile)
	} else {
		a.eachTile(a.reluTile)
	}
}

// eachTile calls f on the workers for every tile of every sequence and head. The tiles of a head
// are consecutive because they share keys and parts of the tables.
func (a *attentionRun) eachTile(f func(t queries)) {
	first := make([]int, a.n+1) // index of each sequence's first tile
	for b := range a.n {
		lo, hi := a.tokens(b)
		first[b+1] = first[b] + a.tiles(hi-lo)*a.Heads
	}
	a.run.parallel(first[a.n], func(w *worker, piece int) {
		b := sort.SearchInts(first, piece+1) - 1
		tiles := (first[b+1] - first[b]) / a.Heads
		i := piece - first[b]
		f(a.tile(w, b, i/tiles, i%tiles))
	})
}

// prefetch is called before each tile of keys; the parameter key is the first row of this tile. It
// prefetches some rows of y, which the tile of queries will write, and some rows of each x, which later
// tiles of queries read. It may prefetch too much or nothing.
func (a *attentionRun) prefetch(t queries, key int, y []float32, x ...[]float32) {
	lo, end := a.keys(t.b)
	parts := (end - lo + keyTile - 1) / keyTile
	rows := (t.n + parts - 1) / parts
	first := t.row + (key-lo)/keyTile*rows
	prefetchRows := func(x []float32, from, to int) {
		if n := min(rows, to-from); n > 0 {
			t.kernels.Prefetch(a.head(x, from, t.head), a.d, n, a.dh)
		}
	}
	prefetchRows(y, first, t.row+t.n)
	_, last := a.tokens(t.b)
	for _, x := range x {
		prefetchRows(x, first+t.n, last)
	}
}

// loadQueries transposes the tile's queries into q.
func (a *attentionRun) loadQueries(t queries, q []float32) {
	t.kernels.Transpose(q, t.stride, a.head(a.q, t.row, t.head), a.d, t.n, a.dh)
}

// packValues makes the values of each head contiguous, because every tile of queries reads them.
func (a *attentionRun) packValues() {
	rows := a.run.rows(a.V)
	a.values = a.run.parts(rows * a.d)
	a.run.parallel(a.n, func(_ *worker, b int) {
		lo, end := a.keys(b)
		for head := range a.Heads {
			a.copyHead(a.values[(head*rows+lo)*a.dh:], a.v, lo, end-lo, head, a.dh)
		}
	})
}

// copyHead copies a head's channels of rows lo … lo+n−1 of x to dst [n, width], padded with 0.
func (a *attentionRun) copyHead(dst, x []float32, lo, n, head, width int) {
	for j := range n {
		row := dst[j*width:][:width]
		clear(row[copy(row, a.head(x, lo+j, head)[:a.dh]):])
	}
}

// scores computes the unscaled scores m of a tile's transposed queries and packed keys, whose rows
// are ldk floats apart.
func (a *attentionRun) scores(t queries, s, q, k []float32, ldk, keys int) {
	switch a.Score {
	case tensor.Lily:
		t.kernels.Lily.Forward(s, q, t.stride, t.n, k, ldk, keys, a.dh)
	case tensor.Dot:
		p := &a.run.device.simd.Products
		p.Mul(simd.Rows(s, t.stride), simd.Rows(k, ldk), p.View(q, t.stride, a.dh, t.n), simd.Matrix{}, keys)
	default:
		t.kernels.Maxout.Forward(s, q, t.stride, t.n, k, ldk, keys, a.dh)
	}
	if a.Score == tensor.MaxoutStandardized {
		for j := range keys {
			for r, v := range s[j*t.stride:][:t.n] {
				s[j*t.stride+r] = (v - float32(float32(a.dh)*standardMean)) * standardScale
			}
		}
	}
}

// reluTile computes attention with ReLU weights for a tile of queries. Unlike softmax it needs no
// maximum: numerator and denominator are plain sums.
func (a *attentionRun) reluTile(t queries) {
	f := newForwardScratch(t.worker, t.stride, a.dh)
	a.loadQueries(t, f.q)
	lo, end := a.keys(t.b)
	clear(f.sum)
	clear(f.out)
	for block := lo; block < end; block += sumKeys {
		clear(f.part)
		for at := block; at < min(end, block+sumKeys); at += keyTile {
			keys := min(end-at, keyTile)
			a.prefetch(t, at, a.o, a.q)
			a.scores(t, f.s, f.q, a.head(a.k, at, t.head), a.d, keys)
			a.relativeBias.forward(t, at, keys, f.s, 0, f.part)
			a.addValues(t, &f, at, keys)
		}
		a.run.addTo(f.sum, f.part)
	}
	a.countDeadRows(f.sum[t.skip:t.n])
	leak := a.leakOf(t.b, t.head)
	for r, v := range f.sum[:t.n] {
		z := v + leak + tensor.AttentionEpsilon
		if r >= t.skip {
			a.norm[(t.row+r)*a.Heads+t.head] = z
		}
		f.sum[r] = 1 / z
	}
	a.storeOutput(t, &f)
}

// storeOutput multiplies the tile's output by the inverse sums in f.sum and stores it.
func (a *attentionRun) storeOutput(t queries, f *forwardScratch) {
	t.kernels.ScaleRows(f.out, t.stride, a.dh, t.n, f.sum)
	t.kernels.Transpose(a.head(a.o, t.row+t.skip, t.head), a.d, f.out[t.skip:], t.stride, a.dh, t.n-t.skip)
}

// addValues adds Σ_j p_j v_j over a tile of keys to the output of the tile of queries.
func (a *attentionRun) addValues(t queries, f *forwardScratch, at, keys int) {
	v := a.values[(t.head*len(a.values)/a.d+at)*a.dh:]
	p := &a.run.device.simd.Products
	c := simd.Rows(f.out, t.stride)
	p.Mul(c, simd.Matrix{Data: v, Row: 1, Col: a.dh}, p.View(f.s, t.stride, keys, t.n), c, a.dh)
}

// countDeadRows adds the number of queries without a positive score to the output DeadRows.
func (a *attentionRun) countDeadRows(sum []float32) {
	if a.deadRows == nil {
		return
	}
	var n int32
	for _, v := range sum {
		if v == 0 {
			n++
		}
	}
	atomic.AddInt32(a.deadRows, n)
}
