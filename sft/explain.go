package sft

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/sftseq/sftseq/internal/tensor"
	"github.com/sftseq/sftseq/seq"
)

// Explanation says which parts of a sequence the model read.
//
// A layer attends to duplets, each a mixture x̂_j = p_j·x_top + (1−p_j)·x_partner
// of two sampled tokens. With P_ij what query i of a head gives to duplet j, and
// as values are linear in x̂ up to their bias,
//
//	O_i = Σ_j P_ij·v̂_j = Σ_j P_ij·(p_j·v_top + (1−p_j)·v_partner)
//
// So the share of a layer's attention that a token receives, with h heads and L
// queries, is its weight in its duplet times what the duplet receives:
//
//	mass(top_j) = p_j·M_j, mass(partner_j) = (1−p_j)·M_j, M_j = 1/(h·L) Σ_heads Σ_i P_ij
//
// The masses of a layer add up to the mean over the rows of P of their sums. That
// is 1 for softmax; for relu it is the share of rows with a positive score; for
// leaky_relu the rest has left through the leak.
//
// Source: "Sampling Foundational Transformer", attention matrix construction.
type Explanation struct {
	Layers []LayerExplanation `json:"layers"`
	// Pooling has the weight a_i of each token in u = Σ a_i·x_i, the vector that
	// the head reads: [L], adding up to 1. Where u_c = max_j x̂_jc, it is the token's part of the
	// x̂_j that the channels c have their maximum of, in the mean over the channels. A model of
	// tagging has none: its head reads each token's row.
	Pooling []float32 `json:"pooling,omitempty"`
}

// LayerExplanation has the tokens that a layer sampled, tops and partners, at most
// 2k of them, in the order of their positions. All others only asked.
type LayerExplanation struct {
	Positions []int32   `json:"positions"`
	Weights   []float32 `json:"weights"` // in the duplet: p_j of a top, 1−p_j of a partner
	Mass      []float32 `json:"mass"`    // of the layer's attention
}

// Explain scores examples as [Scorer.Examples] does, to the bit, and explains
// each of their sequences. It takes the backward of attention besides: on a
// processor about twice the time, and twice the memory.
func (s *Scorer) Explain(ctx context.Context, examples []seq.Example) ([]Output, error) {
	if err := s.layered(); err != nil {
		return nil, err
	}
	return s.score(ctx, examples, explainMode)
}

// explained is what a pass in explainMode leaves beside its outputs.
type explained struct {
	heads    int
	share    *tensor.Tensor // [B, d] input: 1/(h·L) throughout a sequence's row
	gradient *tensor.Tensor // [T, d]: the same for each of its tokens
	layers   []explainedLayer
	pooling  weighing // nil where the head reads each token
}

// weighing says how much of the vector that the head reads is of each token.
type weighing interface {
	// kept lists the tensors that it reads.
	kept() []*tensor.Tensor
	// weights are those of all tokens of a batch that was run.
	weights(b *packed, arena tensor.Memory) ([]float32, error)
}

type explainedLayer struct {
	top, partner, p *tensor.Tensor // [S]
	count           *tensor.Tensor // [B]
	received        *tensor.Tensor // [S, d]: a head's part of M, in each of its channels
}

// explain emits what all layers need for it.
func (m *emitter) explain() *explained {
	d := m.config.HiddenSize
	x := &explained{heads: m.config.NumHeads, gradient: m.tokens("explain.gradient", d),
		share: m.Input("explain.share", tensor.Sequences, m.shape.Sequences, d)}
	m.Launch(tensor.Embed{Y: x.gradient, Token: m.batch.Sequence, Weight: x.share})
	return x
}

// layer emits the explanation of a layer after its forward. It needs the sums of
// P's columns, which the backward of attention has: DV_j = Σ_i P_ij·DO_i. With
// DO = 1/(h·L) throughout, a head's channels of DV_j are its part of M_j. What
// else the backward computes is not used.
func (x *explained) layer(l *layer) {
	l.Segment(fmt.Sprintf("layer %d explained", l.index))
	a := &l.attn
	e := explainedLayer{top: a.sample.Top, partner: a.sample.Partner, p: a.duplet.P, count: a.sample.Count,
		received: l.productsBackward(x.gradient).DV}
	for _, t := range []*tensor.Tensor{e.top, e.partner, e.p, e.count, e.received} {
		l.Keep(t)
	}
	x.layers = append(x.layers, e)
}

// pool has kept what the weights of the pooling follow from.
func (x *explained) pool(m *emitter, p weighing) {
	x.pooling = p
	for _, t := range p.kept() {
		m.Keep(t)
	}
}

// upload writes the share of each query of a batch's sequences.
func (x *explained) upload(b *packed, inputs tensor.Memory) error {
	d := x.share.Width()
	share := make([]float32, 0, len(b.example)*d)
	for i := range b.example {
		length := b.offset[i+1] - b.offset[i]
		share = append(share, slices.Repeat([]float32{float32(1 / (float64(x.heads) * float64(length)))}, d)...)
	}
	return tensor.Upload(inputs, x.share, share)
}

// read returns the explanation of each sequence of a batch that was run.
func (x *explained) read(b *packed, arena tensor.Memory) ([]Explanation, error) {
	out := make([]Explanation, len(b.example))
	if x.pooling != nil {
		weights, err := x.pooling.weights(b, arena)
		if err != nil {
			return nil, err
		}
		for i := range out {
			out[i].Pooling = weights[b.offset[i]:b.offset[i+1]]
		}
	}
	n := int(b.counts.Sampled)
	top, partner, count := make([]int32, n), make([]int32, n), make([]int32, len(out))
	p, received := make([]float32, n), make([]float32, n*x.share.Width())
	for _, l := range x.layers {
		err := errors.Join(tensor.Download(arena, l.top, top), tensor.Download(arena, l.partner, partner),
			tensor.Download(arena, l.count, count),
			tensor.Download(arena, l.p, p), tensor.Download(arena, l.received, received))
		if err != nil {
			return nil, err
		}
		for i := range out {
			var read []sampledToken
			for j := b.sampleOffset[i]; j < b.sampleOffset[i]+count[i]; j++ {
				mass := x.mass(received, int(j))
				read = append(read, sampledToken{top[j], float64(p[j]), mass})
				if partner[j] >= 0 {
					read = append(read, sampledToken{partner[j], 1 - float64(p[j]), mass})
				}
			}
			out[i].Layers = append(out[i].Layers, explainLayer(read))
		}
	}
	return out, nil
}

// mass is M_j.
func (x *explained) mass(received []float32, j int) (sum float64) {
	d := x.share.Width()
	for head := range x.heads {
		sum += float64(received[j*d+head*(d/x.heads)])
	}
	return sum
}

// sampledToken is one that a layer sampled: its weight in its duplet, and the duplet's
// mass.
type sampledToken struct {
	position     int32
	weight, mass float64
}

func explainLayer(read []sampledToken) LayerExplanation {
	slices.SortFunc(read, func(a, b sampledToken) int { return cmp.Compare(a.position, b.position) })
	n := len(read)
	e := LayerExplanation{Positions: make([]int32, n), Weights: make([]float32, n), Mass: make([]float32, n)}
	for i, t := range read {
		e.Positions[i], e.Weights[i], e.Mass[i] = t.position, float32(t.weight), float32(t.weight*t.mass)
	}
	return e
}
