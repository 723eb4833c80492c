package cpu

import "github.com/sftseq/sftseq/internal/tensor"

// distanceBias is the relative bias of points. It computes the features of pairs when needed, for
// one key and all queries of a tile at a time.
type distanceBias struct {
	pairBias
	points []float32
}

func newDistanceBias(a *attentionRun, rel tensor.DistanceBias, grad tensor.RelativeBiasGradient) *distanceBias {
	return &distanceBias{newPairBias(a, rel.W, rel.P, rel.Top, rel.Partner, rel.PairFeatures(), grad),
		a.run.floats(rel.Points)}
}

// distanceScratch is a worker's memory for one key and a tile of queries.
type distanceScratch struct {
	memory [30 * queryTile]float32
	distanceRows
}

// distanceRows holds rows with one number per query of the tile; [n] is the number of rows.
type distanceRows struct {
	queries      []float32 // [3·featureCount] points of the queries
	differences  []float32 // [3] coordinates of the queries minus those of a token
	top, partner pairRows  // values for the top token of a key and for its partner
	ones         []float32 // the constant 1
	terms        pairTerms
}

// pairRows holds the values for pairs of one token of a key and each query.
type pairRows struct {
	weight   float32   // p, or 1 − p
	features []float32 // [featureCount + 1] features of the pair, then the constant 1
	z        []float32
	softplus []float32 // softplus(z)
	slope    []float32 // derivative of softplus(z)
}

// newRows divides the worker's scratch for a tile and transposes the points of the tile's queries.
func (d *distanceBias) newRows(t queries) *distanceScratch {
	w := &t.worker.distance
	next := carve(w.memory[:])
	row := func(n int) []float32 { return next(n * t.n) }
	pair := func() pairRows {
		return pairRows{features: row(d.featureCount + 1), z: row(1), softplus: row(1), slope: row(1)}
	}
	w.distanceRows = distanceRows{queries: row(3 * d.featureCount), differences: row(3), top: pair(), partner: pair(),
		ones: row(1), terms: pairTerms{mul: row(1), add: row(1), dmul: row(1), dadd: row(1)}}
	for i := range w.ones {
		w.ones[i] = 1
	}
	copy(w.top.features[d.featureCount*t.n:], w.ones)
	copy(w.partner.features[d.featureCount*t.n:], w.ones)
	width := 3 * d.featureCount
	t.kernels.Transpose(w.queries, t.n, d.points[t.row*width:], width, t.n, width)
	return w
}

// weights returns the weights of a head for Rmul and Radd, each followed by its bias.
func (d *distanceBias) weights(head int) (mul, add []float32) {
	w := d.w[head*2*(d.featureCount+1):][:2*(d.featureCount+1)]
	return w[:d.featureCount+1], w[d.featureCount+1:]
}

// computeToken computes the values in x for the token at a position and each query.
func (d *distanceBias) computeToken(t queries, w *distanceScratch, x *pairRows, position int32, weight float32,
	mul []float32, backward bool) {
	width := 3 * d.featureCount
	point := d.points[(int(d.offset[t.b])+int(position))*width:][:width]
	x.weight = weight
	for c := range 3 {
		t.kernels.AddScaled(w.differences[c*t.n:][:t.n], w.queries[c*t.n:][:t.n], w.ones, -point[c])
	}
	t.kernels.DotColumns(x.features[:t.n], w.differences, w.differences, t.n, 3, t.n)
	if d.featureCount == 2 {
		t.kernels.WeightedSum(x.features[t.n:][:t.n], point[3:], w.queries[3*t.n:][:3*t.n])
	}
	t.kernels.WeightedSum(x.z, mul, x.features)
	t.kernels.Softplus(x.softplus, x.z)
	if backward {
		t.kernels.Sigmoid(x.slope, x.z)
	}
}

// computeKey computes Rmul and Radd for key j and each query. paired reports whether the key has a
// partner; otherwise w.partner is not set.
func (d *distanceBias) computeKey(t queries, w *distanceScratch, j int, mul, add []float32,
	backward bool) (paired bool) {
	d.computeToken(t, w, &w.top, d.top[j], d.p[j], mul, backward)
	t.kernels.WeightedSum(w.terms.add, add, w.top.features)
	if d.partner[j] < 0 {
		copy(w.terms.mul, w.top.softplus)
		return false
	}
	d.computeToken(t, w, &w.partner, d.partner[j], 1-d.p[j], mul, backward)
	t.kernels.WeightedSum(w.terms.dadd, add, w.partner.features)
	t.kernels.Mix(w.terms.add, w.terms.add, w.terms.dadd, d.p[j])
	t.kernels.Mix(w.terms.mul, w.top.softplus, w.partner.softplus, d.p[j])
	return true
}

func (d *distanceBias) forward(t queries, at, keys int, s []float32, floor float32, sum []float32) {
	w := d.newRows(t)
	mul, add := d.weights(t.head)
	for j := range keys {
		d.computeKey(t, w, at+j, mul, add, false)
		row := s[j*t.stride:][:t.n]
		t.kernels.ScaleRows(w.terms.mul, t.n, 1, t.n, row)
		t.kernels.AddScaled(row, w.terms.add, w.terms.mul, d.scale)
		t.kernels.ScaleTile(row, t.stride, 1, t.n, 1, floor, sum)
	}
}

func (d *distanceBias) backward(t queries, at, keys int, s, da []float32, relu bool, total []float32) {
	w := d.newRows(t)
	mul, add := d.weights(t.head)
	var sums [6]float32 // gradients of the weights for Rmul, then for Radd
	n := d.featureCount + 1
	for j := range keys {
		paired := d.computeKey(t, w, at+j, mul, add, true)
		total[j] = w.terms.scoreGradients(s[j*t.stride:][:t.n], da[j*t.stride:][:t.n], d.scale, relu)
		out := d.d[((at+j)*d.heads+t.head)*(2*n+1):][:2*n+1]
		tokens := []*pairRows{&w.top, &w.partner}
		if !paired {
			tokens = tokens[:1]
		}
		for i, x := range tokens {
			// The gradient of z is the gradient of Rmul times the weight and the slope.
			t.kernels.RowDot(sums[:1], x.softplus, w.terms.dmul, 0)
			t.kernels.RowDot(sums[n:2*n], x.features, w.terms.dadd, 0)
			dweight := sums[0]
			for c, v := range sums[n : 2*n] {
				dweight += float32(v * add[c])
			}
			t.kernels.ScaleRows(x.slope, t.n, 1, t.n, w.terms.dmul)
			t.kernels.RowDot(sums[:n], x.features, x.slope, 0)
			for c, v := range sums[:2*n] {
				out[1+c] += float32(x.weight * v)
			}
			switch {
			case paired && i == 0:
				out[0] += dweight
			case paired:
				out[0] -= dweight
			}
		}
	}
}
