package conformance

import (
	"fmt"
	"math"
	"slices"

	"github.com/sftseq/sftseq/internal/tensor"
)

// attentionSetup is the configuration of a case.
type attentionSetup struct {
	shape       shape
	heads, dh   int
	score       tensor.Score
	probability tensor.Probability
	relation    relation
	coarse      bool // use few distinct values, so that some keys equal queries and some scores are zero
}

// margin is the minimum distance of scores from ReLU's kink. Closer to the kink, rounding decides
// whether a key counts, even on a correct device.
const margin = 2e-6

// minSum is the minimum denominator of a row of ReLU or leaky ReLU with a positive score. A smaller
// denominator would magnify the rounding errors of the scores in the quotient.
const minSum = 0.25

func init() { register("attention", attentionCases) }

func attentionCases(add func(...Case)) {
	addBoth := func(s attentionSetup) {
		name := fmt.Sprintf("%d sequences, k %d, %d heads of %d, score %d, probability %d, relative %v, coarse %v",
			len(s.shape.lengths), s.shape.k, s.heads, s.dh, s.score, s.probability, s.relation, s.coarse)
		add(Case{"attention " + name, s.shape, s.forward}, Case{"attention_backward " + name, s.shape, s.backward})
	}
	for score := tensor.Maxout; score <= tensor.Dot; score++ {
		for probability := tensor.LeakyReLU; probability <= tensor.Softmax; probability++ {
			for _, relation := range relations {
				addBoth(attentionSetup{shape{[]int{1, 2, 31, 65, 33}, 20}, 3, 5, score, probability, relation, false})
			}
			addBoth(attentionSetup{shape{[]int{33, 3}, 40}, 2, 4, score, probability, noRelation, true})
		}
	}
	// These cases include more keys than fit into a tile, odd widths, and sequences of fewer than k tokens, of
	// k to 2k tokens, and of more than 2k tokens.
	for i, s := range []attentionSetup{
		{shape: shape{[]int{300}, 257}, heads: 1, dh: 1, probability: tensor.LeakyReLU, relation: sinusoids},
		{shape: shape{[]int{300, 1, 32}, 400}, heads: 1, dh: 3, probability: tensor.Softmax, relation: sinusoids},
		{shape: shape{[]int{1, 300}, 280}, heads: 2, dh: 3, probability: tensor.ReLU},
		{shape: shape{[]int{33, 1, 40}, 30}, heads: 1, dh: 33, probability: tensor.Softmax, relation: sinusoids},
		{shape: shape{[]int{100, 2, 100}, 60}, heads: 1, dh: 20, probability: tensor.LeakyReLU, relation: sinusoids},
		{shape: shape{[]int{32}, 1}, heads: 3, dh: 16, probability: tensor.Softmax},
		// Two or three threads share the five heads unequally, and the last tile is partial.
		{shape: shape{[]int{140, 3, 33}, 20}, heads: 5, dh: 6, probability: tensor.LeakyReLU, relation: sinusoids},
		{shape: shape{[]int{300}, 257}, heads: 1, dh: 1, probability: tensor.LeakyReLU, relation: distances},
		{shape: shape{[]int{300, 1, 32}, 400}, heads: 3, dh: 3, probability: tensor.Softmax,
			relation: distancesAndNormals},
		{shape: shape{[]int{140, 3, 33}, 20}, heads: 5, dh: 6, probability: tensor.ReLU, relation: distancesAndNormals},
		{shape: shape{[]int{300}, 257}, heads: 1, dh: 1, probability: tensor.LeakyReLU, relation: edges},
		{shape: shape{[]int{300, 1, 32}, 400}, heads: 3, dh: 3, probability: tensor.Softmax, relation: edges},
		{shape: shape{[]int{140, 3, 33}, 20}, heads: 5, dh: 6, probability: tensor.ReLU, relation: edges},
	} {
		s.score = tensor.Score(i % 4)
		addBoth(s)
	}
	// A device may keep only some channels of these wide heads in registers, and sum over the channels in
	// several passes.
	for _, heads := range []struct {
		dh     int
		scores []tensor.Score
	}{
		{24, []tensor.Score{tensor.Maxout, tensor.MaxoutStandardized, tensor.Lily, tensor.Dot, tensor.Maxout}},
		{64, []tensor.Score{tensor.Lily, tensor.Dot, tensor.Maxout, tensor.Maxout, tensor.Lily}},
	} {
		for i, relation := range relations {
			addBoth(attentionSetup{shape: shape{[]int{70, 3}, 40}, heads: 2, dh: heads.dh, score: heads.scores[i],
				probability: []tensor.Probability{tensor.LeakyReLU, tensor.Softmax}[i%2], relation: relation})
		}
	}
}

// operands declares the operands that both passes read.
func (s attentionSetup) operands(r *fixture) (tensor.Attention, *attention64) {
	sel := r.selection()
	d := s.heads * s.dh
	q, k, v := r.in(tensor.Tokens, d), r.sampledIn(sel, d), r.sampledIn(sel, d)
	top, partner := r.list(tensor.Sampled, sel.top), r.list(tensor.Sampled, sel.partner)
	launch := tensor.Attention{Q: q.Tensor, K: k.Tensor, V: v.Tensor, Count: r.list(tensor.Sequences, sel.count).Tensor,
		Batch: r.batch, Heads: s.heads, Score: s.score, Probability: s.probability}
	a := &attention64{fixture: r, sel: sel, heads: s.heads, dh: s.dh, score: s.score,
		probability: s.probability, q: q.x, k: k.x, v: v.x}
	if s.probability == tensor.LeakyReLU {
		leak := r.in(tensor.Sequences, s.heads)
		leak.set(func(i int) float64 { return 0.1 + math.Abs(leak.x[i]) })
		a.leak, launch.Leak = leak.x, leak.Tensor
	}
	launch.RelativeBias, a.relation = r.relation(s.relation, sel, top, partner, s.heads)
	if s.coarse {
		for _, o := range []*operand{q, k} {
			o.set(func(i int) float64 { return math.Round(2*o.x[i]) / 2 })
		}
		return launch, a
	}
	for s.probability != tensor.Softmax {
		_, _, _, nearKink := a.forward()
		if len(nearKink) == 0 {
			break
		}
		q.set(func(i int) float64 {
			if slices.Contains(nearKink, i/d) {
				return r.random.NormFloat64()
			}
			return q.x[i]
		})
	}
	return launch, a
}

// tolerance returns a larger tolerance for softmax: exp turns an absolute error of a score into a
// relative error of the probability.
func (s attentionSetup) tolerance() float64 {
	if s.probability == tensor.Softmax {
		return 1e-5
	}
	return 3e-6
}

func (s attentionSetup) forward(r *fixture) tensor.Kernel {
	k, a := s.operands(r)
	o, norm, deadRows, _ := a.forward()
	k.O = r.want(r.out(tensor.Tokens, s.heads*s.dh), o, s.tolerance()).Tensor
	k.Norm = r.want(r.out(tensor.Tokens, s.heads), norm, 2e-6).Tensor
	if s.probability != tensor.Softmax {
		n := r.want(r.outFixed(1), []float64{float64(deadRows)}, 0)
		n.ints, n.Int = true, true
		k.DeadRows = n.Tensor
	}
	return k
}

func (s attentionSetup) backward(r *fixture) tensor.Kernel {
	forward, a := s.operands(r)
	d := s.heads * s.dh
	do, out, saved := r.in(tensor.Tokens, d), r.in(tensor.Tokens, d), r.in(tensor.Tokens, s.heads)
	o, norm, _, _ := a.forward()
	out.set(func(i int) float64 { return o[i] })
	saved.set(func(i int) float64 { return norm[i] })
	forward.O, forward.Norm = out.Tensor, saved.Tensor
	a.backward(do.x)

	tolerance := 3 * s.tolerance()
	dq, dk := r.want(r.out(tensor.Tokens, d), a.dq, tolerance), r.want(r.out(tensor.Sampled, d), a.dk, tolerance)
	if s.probability == tensor.Softmax && s.shape.k == 1 {
		dq.scale, dk.scale = 1, 1 // all zero; the terms that cancel have size 1
	}
	k := tensor.AttentionBackward{Forward: forward, DO: do.Tensor, DQ: dq.Tensor, DK: dk.Tensor,
		DV: r.want(r.out(tensor.Sampled, d), a.dv, tolerance).Tensor}
	pairs := []pair{{a.q, a.dq}, {a.k, a.dk}, {a.v, a.dv}}
	if a.leak != nil {
		k.DLeak = r.want(r.out(tensor.Sequences, s.heads), a.dleak, tolerance).Tensor
		pairs = append(pairs, pair{a.leak, a.dleak})
	}
	gradient, more := a.relation.gradient(r, tolerance)
	k.Gradient = gradient
	pairs = append(pairs, more...)
	if !s.coarse { // differences of coarse scores would cross kinks
		r.derivative(func() float64 {
			o, _, _, _ := a.forward()
			return product(do.x, o)
		}, pairs...)
	}
	return k
}
