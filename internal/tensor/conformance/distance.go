package conformance

import "github.com/sftseq/sftseq/internal/tensor"

// distance64 is the dense reference of the relative bias of points.
type distance64 struct {
	fixture  *fixture
	sel      selection
	heads    int
	features int       // number of pair features: 1, or 2 with normals
	points   []float64 // [T, 3·features]
	w        []float64 // [h, 2·features + 2]
	p        []float64 // [S]
	dw       []float64
	ds       []float64 // [S, h, 2·features + 3]
}

// pair returns a_it for positions i and t in the sequence of sampled row j.
func (d *distance64) pair(i, t, j int) []float64 {
	first, width := d.fixture.offset[d.sel.sequence[j]], 3*d.features
	x, y := d.points[(first+i)*width:][:width], d.points[(first+t)*width:][:width]
	a := []float64{0}
	for c := range 3 {
		a[0] += (x[c] - y[c]) * (x[c] - y[c])
	}
	if d.features == 2 {
		a = append(a, product(x[3:], y[3:]))
	}
	return a
}

// linear returns w_mul·a + b_mul and w_add·a + b_add.
func (d *distance64) linear(head int, a []float64) (mul, add float64) {
	r := d.features
	w := d.w[head*(2*r+2):][:2*r+2]
	return product(w[:r], a) + w[r], product(w[r+1:2*r+1], a) + w[2*r+1]
}

func (d *distance64) terms(head, i, j int) (mul, add float64) {
	d.sel.eachToken(j, d.p, func(weight, _ float64, t int) {
		zm, za := d.linear(head, d.pair(i, t, j))
		mul += weight * softplus64(zm)
		add += weight * za
	})
	return mul, add
}

func (d *distance64) adjoint(head, i, j int, dmul, dadd float64) {
	r, width := d.features, 2*d.features+3
	out, dw := d.ds[(j*d.heads+head)*width:][:width], d.dw[head*(width-1):][:width-1]
	d.sel.eachToken(j, d.p, func(weight, sign float64, t int) {
		a := d.pair(i, t, j)
		zm, za := d.linear(head, a)
		out[0] += sign * (dmul*softplus64(zm) + dadd*za)
		for c, v := range append(a, 1) {
			gm, ga := dmul*weight*sigmoid64(zm)*v, dadd*weight*v
			dw[c], out[1+c] = dw[c]+gm, out[1+c]+gm
			dw[r+1+c], out[2+r+c] = dw[r+1+c]+ga, out[2+r+c]+ga
		}
	})
}

func (d *distance64) gradient(r *fixture, tolerance float64) (tensor.RelativeBiasGradient, []pair) {
	width := 2*d.features + 3
	dp := zeros(len(d.p))
	for i, v := range d.ds {
		if i%width == 0 {
			dp[i/width/d.heads] += v
		}
	}
	return tensor.PairGradient{D: r.want(r.out(tensor.Sampled, d.heads*width), d.ds, tolerance).Tensor},
		[]pair{{d.w, d.dw}, {d.p, dp}}
}

// distance declares the operands of the relative bias of points. A cloud has a radius of about 1.
func (r *fixture) distance(features int, sel selection, top, partner *operand,
	heads int) (tensor.RelativeBias, relation64) {
	points, w, p := r.in(tensor.Tokens, 3*features), r.fixed(heads, 2*features+2), r.weights(sel)
	points.set(func(i int) float64 { return points.x[i] / 2 })
	// Rmul is about 1: with Rmul near 0, the denominator of ReLU is below minSum for any query.
	w.set(func(i int) float64 {
		if i%w.columns == features {
			return 0.5 + 0.3*w.x[i]
		}
		return 0.4 * w.x[i]
	})
	return tensor.DistanceBias{Points: points.Tensor, W: w.Tensor, P: p.Tensor, Top: top.Tensor,
			Partner: partner.Tensor},
		&distance64{fixture: r, sel: sel, heads: heads, features: features, points: points.x, w: w.x, p: p.x,
			dw: zeros(len(w.x)), ds: zeros(len(sel.top) * heads * (2*features + 3))}
}
