package simd

import (
	"math"

	"github.com/sftseq/sftseq/internal/fmath"
)

var scoresGo = Scores{
	Maxout:           Score{maxout, maxoutBackward},
	Lily:             Score{lily, lilyBackward},
	ScaleTile:        scaleTile,
	ScaleRows:        scaleRows,
	DotColumns:       dotColumns,
	Sinusoid:         SinusoidGo,
	SinusoidFar:      SinusoidGo,
	SinusoidBackward: func(t *SinusoidTile) { SinusoidBackwardGo(t, true) },
}

func maxout(s, q []float32, stride, n int, k []float32, ldk, keys, c int) {
	for j := range keys {
		row := s[j*stride:][:n]
		clear(row)
		for i, x := range k[j*ldk:][:c] {
			for r, y := range q[i*stride:][:n] {
				row[r] += max(x, y)
			}
		}
	}
}

func lily(s, q []float32, stride, n int, k []float32, ldk, keys, c int) {
	for j := range keys {
		row := s[j*stride:][:n]
		clear(row)
		for i, x := range k[j*ldk:][:c] {
			for r, y := range q[i*stride:][:n] {
				row[r] += abs(y + x)
				row[r] -= abs(y - x)
			}
		}
	}
}

func maxoutBackward(g []float32, stride, n int, q, dq, k, dk []float32, keys, c int) {
	for j := range keys {
		key, dkey := k[j*c:][:c], dk[j*c:][:c]
		for r, v := range g[j*stride:][:n] {
			qr, dqr := q[r*c:][:c], dq[r*c:][:c]
			for i, x := range key {
				if qr[i] >= x {
					dqr[i] += v
					dkey[i] -= v
				}
			}
		}
	}
}

func lilyBackward(g []float32, stride, n int, q, dq, k, dk []float32, keys, c int) {
	for j := range keys {
		key, dkey := k[j*c:][:c], dk[j*c:][:c]
		for r, v := range g[j*stride:][:n] {
			qr, dqr := q[r*c:][:c], dq[r*c:][:c]
			for i, x := range key {
				plus, minus := v*sign(qr[i]+x), v*sign(qr[i]-x)
				dqr[i] += plus
				dqr[i] -= minus
				dkey[i] += plus
				dkey[i] += minus
			}
		}
	}
}

func abs(x float32) float32 { return math.Float32frombits(math.Float32bits(x) &^ (1 << 31)) }

func sign(x float32) float32 {
	switch {
	case x > 0:
		return 1
	case x < 0:
		return -1
	}
	return 0
}

func scaleTile(s []float32, stride, keys, n int, scale, floor float32, sum []float32) {
	for j := range keys {
		for r, v := range s[j*stride:][:n] {
			v = max(v*scale, floor)
			s[j*stride+r] = v
			sum[r] += v
		}
	}
}

func scaleRows(y []float32, stride, rows, n int, x []float32) {
	for i := range rows {
		for r, v := range x[:n] {
			y[i*stride+r] *= v
		}
	}
}

func dotColumns(y, a, b []float32, stride, rows, n int) {
	y = y[:n]
	clear(y)
	for i := range rows {
		bi := b[i*stride:][:n]
		for r, v := range a[i*stride:][:n] {
			y[r] += float32(v * bi[r])
		}
	}
}

// windows holds the parts of the tables for one token of a key.
type windows struct {
	weight         float32
	fm, gm, fa, ga []float32
}

// tokens returns the windows of key j's top token and of its partner, if any.
func (t *SinusoidTile) tokens(j int, fm, gm, fa, ga []float32) (top, partner windows, paired bool) {
	window := func(position int32, weight float32) windows {
		f, g := t.FOrigin-int(position), t.GOrigin+int(position)
		return windows{weight, fm[f:][:t.N], gm[g:][:t.N], fa[f:][:t.N], ga[g:][:t.N]}
	}
	top = window(t.Top[j], t.P[j])
	if paired = t.Partner[j] >= 0; paired {
		partner = window(t.Partner[j], 1-t.P[j])
	}
	return
}

// relative adds the weighted terms of a token for query r to mul and add, and returns the sums.
func (w *windows) relative(r int, mul, add float32) (float32, float32) {
	return mul + float32(w.weight*fmath.Softplus(w.fm[r]+w.gm[r])), add + float32(w.weight*(w.fa[r]+w.ga[r]))
}

// SinusoidGo is [Scores.Sinusoid] for tables with any values.
func SinusoidGo(t *SinusoidTile) {
	for j := range t.Keys {
		top, partner, paired := t.tokens(j, t.FM, t.GM, t.FA, t.GA)
		s := t.S[j*t.Stride:][:t.N]
		for r, m := range s {
			mul, add := top.relative(r, 0, 0)
			if paired {
				mul, add = partner.relative(r, mul, add)
			}
			a := max(float32(float32(m*t.Scale)*mul)+add, t.Floor)
			s[r] = a
			t.Sum[r] += a
		}
	}
}

// SinusoidBackwardGo is [Scores.SinusoidBackward] for tables with any values. If relu is false, D holds
// dA for every pair and is not changed.
func SinusoidBackwardGo(t *SinusoidTile, relu bool) {
	for j := range t.Keys {
		top, partner, paired := t.tokens(j, t.FM, t.GM, t.FA, t.GA)
		dtop, dpartner, _ := t.tokens(j, t.DFM, t.DGM, t.DFA, t.DGA)
		s, d := t.S[j*t.Stride:][:t.N], t.D[j*t.Stride:][:t.N]
		var total, dp float32
		for r, m := range s {
			mul, add := top.relative(r, 0, 0)
			if paired {
				mul, add = partner.relative(r, mul, add)
			}
			m *= t.Scale
			da := d[r]
			if relu {
				a := float32(m*mul) + add
				if !(a > 0) {
					da = 0
				}
				d[r] = max(a, 0)
			}
			dm := float32(da*mul) * t.Scale
			s[r] = dm
			total += dm
			dp += top.scatter(&dtop, r, da*m, da)
			if paired {
				dp -= partner.scatter(&dpartner, r, da*m, da)
			}
		}
		t.Total[j] = total
		t.DP[j] += dp
	}
}

// scatter adds the gradients of a token and query to the gradient tables d, and returns the gradient of
// the token's weight.
func (w *windows) scatter(d *windows, r int, dmul, dadd float32) float32 {
	soft, sigmoid := fmath.SoftplusSigmoid(w.fm[r] + w.gm[r])
	v := float32(dmul*w.weight) * sigmoid
	d.fm[r] += v
	d.gm[r] += v
	v = dadd * w.weight
	d.fa[r] += v
	d.ga[r] += v
	return float32(dmul*soft) + float32(dadd*(w.fa[r]+w.ga[r]))
}
