package cpu

import (
	"math"
	"sync/atomic"

	"sftseq/internal/fmath"
	"sftseq/internal/tensor"
)

const (
	queryTile = 32  // queries that share the work on a key
	keyTile   = 256 // keys whose contributions are summed before they join the total
)

// attentionRun is what both directions need of a launch.
type attentionRun struct {
	tensor.Attention
	sequences
	q, k, v, o, norm, leak []float32
	count                  []int32
	silent                 *int32
	relation               relation
	d, dh                  int
	scale                  float32
}

func newAttentionRun(r *run, k tensor.Attention, grad tensor.RelationGradient) *attentionRun {
	a := &attentionRun{
		Attention: k, sequences: r.sequences(k.Batch),
		q: r.floats(k.Q), k: r.floats(k.K), v: r.floats(k.V), o: r.floats(k.O), norm: r.floats(k.Norm),
		count: r.ints(k.Count), relation: newRelation(r, k.Relation, grad),
		d: k.Q.Width(), dh: k.Q.Width() / k.Heads,
	}
	a.scale = float32(1 / math.Sqrt(float64(a.dh)))
	if k.Leak != nil {
		a.leak = r.floats(k.Leak)
	}
	return a
}

// leakOf is what leaves through the leak of a sequence and head.
func (a *attentionRun) leakOf(b, head int) float32 {
	if a.leak == nil {
		return 0
	}
	return a.leak[b*a.Heads+head]
}

// head returns the channels of a head in packed row j of x [rows, d].
func (a *attentionRun) head(x []float32, j, head int) []float32 {
	return x[j*a.d+head*a.dh:][:a.dh]
}

// scores computes A for one key and the queries at packed rows row, row+1, …
// (position i of sequence b); it leaves the bare score in m, Rmul in mul.
func (a *attentionRun) scores(head, row, i, key int, s, m, mul, add []float32) {
	scoreTile(a.Score, m, a.q[row*a.d+head*a.dh:], a.d, a.head(a.k, key, head))
	a.relation.tile(head, key, i, mul, add)
	for r, v := range m {
		s[r] = float32(float32(v*a.scale)*mul[r]) + add[r]
	}
}

func attention(r *run, k tensor.Attention) {
	a := newAttentionRun(r, k, nil)
	sequence := r.ints(k.Batch.Sequence)
	rows := r.rows(k.Q)
	if k.Silent != nil {
		a.silent = &r.ints(k.Silent)[0]
		*a.silent = 0
	}
	r.each((rows+queryTile-1)/queryTile, func(w *worker, block int) {
		lo, hi := block*queryTile, min(rows, (block+1)*queryTile)
		for lo < hi { // the part of each sequence in this block of rows
			b := int(sequence[lo])
			first, end := a.tokens(b)
			n := min(hi, end) - lo
			for head := range k.Heads {
				if k.Probability == tensor.Softmax {
					a.softmaxTile(w, b, head, lo, n, lo-first)
				} else {
					a.reluTile(w, b, head, lo, n, lo-first)
				}
			}
			lo += n
		}
	})
}

// tile is a worker's memory for one tile of queries.
type tile struct {
	p              []float32 // [keyTile, n]: A, then the probabilities' numerators
	m, mul, add    []float32 // [n]
	sum, part, top []float32 // [n]
	out            []float32 // [n, dh]
}

func newTile(w *worker, n, dh int) tile {
	x := w.floats(keyTile*n + 6*n + n*dh)
	next := func(size int) []float32 {
		y := x[:size:size]
		x = x[size:]
		return y
	}
	return tile{p: next(keyTile * n), m: next(n), mul: next(n), add: next(n),
		sum: next(n), part: next(n), top: next(n), out: next(n * dh)}
}

// reluTile attends from n queries at packed rows row … with ReLU weights. There
// is no maximum to subtract: numerator and denominator are plain sums.
func (a *attentionRun) reluTile(w *worker, b, head, row, n, position int) {
	t := newTile(w, n, a.dh)
	lo, _ := a.sampled(b)
	end := lo + int(a.count[b])
	clear(t.sum)
	clear(t.out)
	for at := lo; at < end; at += keyTile {
		keys := min(end-at, keyTile)
		clear(t.part)
		for j := range keys {
			s := t.p[j*n : (j+1)*n]
			a.scores(head, row, position, at+j, s, t.m, t.mul, t.add)
			for r, v := range s {
				v = max(v, 0)
				s[r] = v
				t.part[r] += v
			}
		}
		for r, v := range t.part {
			t.sum[r] += v
		}
		a.weigh(t, at, keys, head, n)
	}
	leak := a.leakOf(b, head)
	a.countSilent(t.sum)
	for r := range n {
		z := t.sum[r] + leak + tensor.AttentionEpsilon
		a.norm[(row+r)*a.Heads+head] = z
		o := a.head(a.o, row+r, head)
		for c := range o {
			o[c] = t.out[r*a.dh+c] / z
		}
	}
}

// softmaxTile is reluTile for softmax: the largest score so far is subtracted,
// and what was summed before is scaled when it grows.
func (a *attentionRun) softmaxTile(w *worker, b, head, row, n, position int) {
	t := newTile(w, n, a.dh)
	lo, _ := a.sampled(b)
	end := lo + int(a.count[b])
	clear(t.sum)
	clear(t.out)
	for r := range t.top {
		t.top[r] = float32(math.Inf(-1))
	}
	for at := lo; at < end; at += keyTile {
		keys := min(end-at, keyTile)
		copy(t.part, t.top)
		for j := range keys {
			s := t.p[j*n : (j+1)*n]
			a.scores(head, row, position, at+j, s, t.m, t.mul, t.add)
			for r, v := range s {
				t.part[r] = max(t.part[r], v)
			}
		}
		for r, top := range t.part {
			shrink := fmath.Exp(t.top[r] - top)
			t.top[r] = top
			t.sum[r] *= shrink
			for c := range a.dh {
				t.out[r*a.dh+c] *= shrink
			}
		}
		clear(t.part)
		for j := range keys {
			s := t.p[j*n : (j+1)*n]
			for r, v := range s {
				s[r] = fmath.Exp(v - t.top[r])
				t.part[r] += s[r]
			}
		}
		for r, v := range t.part {
			t.sum[r] += v
		}
		a.weigh(t, at, keys, head, n)
	}
	for r := range n {
		a.norm[(row+r)*a.Heads+head] = t.top[r] + fmath.Log(t.sum[r])
		o := a.head(a.o, row+r, head)
		for c := range o {
			o[c] = t.out[r*a.dh+c] / t.sum[r]
		}
	}
}

// countSilent counts the rows that no key has a positive score for.
func (a *attentionRun) countSilent(sum []float32) {
	if a.silent == nil {
		return
	}
	var n int32
	for _, v := range sum {
		if v == 0 {
			n++
		}
	}
	atomic.AddInt32(a.silent, n)
}

// weigh adds Σ_j p_j v_j over a tile of keys to the tile's output.
func (a *attentionRun) weigh(t tile, at, keys, head, n int) {
	for r := range n {
		out := t.out[r*a.dh:][:a.dh]
		c := 0
		for ; c+4 <= a.dh; c += 4 {
			var s0, s1, s2, s3 float32
			from := at*a.d + head*a.dh + c
			for j := range keys {
				p := t.p[j*n+r]
				v := a.v[from : from+4 : from+4]
				s0 += float32(p * v[0])
				s1 += float32(p * v[1])
				s2 += float32(p * v[2])
				s3 += float32(p * v[3])
				from += a.d
			}
			out[c] += s0
			out[c+1] += s1
			out[c+2] += s2
			out[c+3] += s3
		}
		for ; c < a.dh; c++ {
			var s float32
			for j := range keys {
				s += float32(t.p[j*n+r] * a.v[(at+j)*a.d+head*a.dh+c])
			}
			out[c] += s
		}
	}
}
