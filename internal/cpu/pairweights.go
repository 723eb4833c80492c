package cpu

import "github.com/sftseq/sftseq/internal/tensor"

func init() { register(whole(pairWeights), whole(pairWeightsBackward)) }

func pairWeights(r *run, k tensor.PairWeights) {
	w, n, width := r.floats(k.W), k.MulWeight.Width(), k.W.Width()
	for h := range k.W.Shape[0] {
		row := w[h*width:][:width]
		copy(row, r.floats(k.MulWeight)[h*n:][:n])
		row[n] = r.floats(k.MulBias)[h]
		copy(row[n+1:], r.floats(k.AddWeight)[h*n:][:n])
		row[2*n+1] = r.floats(k.AddBias)[h]
	}
}

// pairBias holds the operands that all relative biases with pair features share.
type pairBias struct {
	w, p         []float32
	d            []float32 // the gradient, see [tensor.PairGradient]
	top, partner []int32
	heads        int
	featureCount int // number of pair features
	scale        float32
	offset       []int32 // first token of each sequence
}

// newPairBias returns the operands of a relative bias; grad holds the operands of its gradient, or
// is nil.
func newPairBias(a *attentionRun, w, p, top, partner *tensor.Tensor, featureCount int,
	grad tensor.RelativeBiasGradient) pairBias {
	r := a.run
	b := pairBias{w: r.floats(w), p: r.floats(p), top: r.ints(top), partner: r.ints(partner),
		heads: a.Heads, featureCount: featureCount, scale: a.scale, offset: a.offset}
	if grad != nil {
		b.d = r.floats(grad.(tensor.PairGradient).D)
	}
	return b
}

// pairTerms holds Rmul, Radd and their gradients for one key and each query of a tile.
type pairTerms struct{ mul, add, dmul, dadd []float32 }

// scoreGradients computes the gradients of A = m·scale·Rmul + Radd for a key. It replaces each m in s by
// its gradient and returns the sum of these gradients. With relu, it treats da as 0 where A ≤ 0 and
// replaces da by ReLU(A). It sets dmul and dadd.
func (t *pairTerms) scoreGradients(s, da []float32, scale float32, relu bool) (total float32) {
	for r, m := range s {
		m *= scale
		v := da[r]
		if relu {
			a := float32(m*t.mul[r]) + t.add[r]
			if !(a > 0) {
				v = 0
			}
			da[r] = max(a, 0)
		}
		dm := float32(v*t.mul[r]) * scale
		s[r], t.dmul[r], t.dadd[r] = dm, v*m, v
		total += dm
	}
	return total
}

// pairWeightsBackward adds up the gradients of all keys in float64, because there may be many keys.
func pairWeightsBackward(r *run, k tensor.PairWeightsBackward) {
	d, dp, heads, n := r.floats(k.D), r.floats(k.DP), k.DP.Width(), k.DMulWeight.Width()
	width := 2*n + 3
	sums := make([]float64, heads*width)
	for j := range r.rows(k.D) {
		for i, v := range d[j*len(sums):][:len(sums)] {
			sums[i] += float64(v)
		}
		for h := range heads {
			dp[j*heads+h] = d[(j*heads+h)*width]
		}
	}
	for h := range heads {
		sum := sums[h*width+1:]
		for c := range n {
			r.floats(k.DMulWeight)[h*n+c] = float32(sum[c])
			r.floats(k.DAddWeight)[h*n+c] = float32(sum[n+1+c])
		}
		r.floats(k.DMulBias)[h], r.floats(k.DAddBias)[h] = float32(sum[n]), float32(sum[2*n+1])
	}
}
