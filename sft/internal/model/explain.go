package model

import (
	"errors"
	"fmt"
	"slices"

	"github.com/sftseq/sftseq/internal/tensor"
)

// explained holds the additional tensors of a pass in ExplainMode.
type explained struct {
	heads int
	// share is an input [B, d]: 1/(h·L), for h heads and L tokens, in all channels of a sequence. It is
	// nil in the stages of a chunked model, whose layers are not explained.
	share    *tensor.Tensor
	gradient *tensor.Tensor // [T, d]: the share of each token's sequence
	layers   []explainedLayer
	pooling  weigher // nil if the head reads each token
}

// weigher reports each token's weight in the vector that the head reads.
type weigher interface {
	// keptTensors lists the tensors that weights reads.
	keptTensors() []*tensor.Tensor
	// weights returns the weights of all tokens of a computed batch.
	weights(b *packed, arena tensor.Memory) ([]float32, error)
}

type explainedLayer struct {
	top, partner, p *tensor.Tensor // [S]
	count           *tensor.Tensor // [B]
	received        *tensor.Tensor // [S, d]: each head's contribution to the masses M, in all channels of the head
}

// explain records the tensors that the explanation of every layer needs.
func (m *emitter) explain() *explained {
	if m.shape.stage != wholeModel {
		return &explained{}
	}
	d := m.config.HiddenSize
	x := &explained{heads: m.config.NumHeads, gradient: m.tokens("explain.gradient", d),
		share: m.Input("explain.share", tensor.Sequences, m.shape.Sequences, d)}
	m.Launch(tensor.Embed{Y: x.gradient, Token: m.batch.Sequence, Weight: x.share})
	return x
}

// layer records the explanation of a layer after its forward pass. The mass M_j of duplet j is the
// mean of its probabilities P_ij over all heads and queries i. The backward pass of attention computes
// DV_j = Σ_i P_ij·DO_i: with DO = 1/(h·L) in all channels, each of a head's channels of DV_j holds the
// head's contribution to M_j. The other results of the backward pass are not used.
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

// pool keeps the tensors that the weights of the pooling depend on.
func (x *explained) pool(m *emitter, p weigher) {
	x.pooling = p
	for _, t := range p.keptTensors() {
		m.Keep(t)
	}
}

// upload writes the share 1/(h·L) of each sequence of a batch.
func (x *explained) upload(b *packed, inputs tensor.Memory) error {
	if x.share == nil {
		return nil
	}
	d := x.share.Width()
	share := make([]float32, 0, len(b.example)*d)
	for i := range b.example {
		length := b.offset[i+1] - b.offset[i]
		share = append(share, slices.Repeat([]float32{float32(1 / (float64(x.heads) * float64(length)))}, d)...)
	}
	return tensor.Upload(inputs, x.share, share)
}

// read returns the explanation of each sequence of a computed batch.
func (x *explained) read(b *packed, arena tensor.Memory) ([]ExplainedSequence, error) {
	out := make([]ExplainedSequence, len(b.example))
	if x.pooling != nil {
		weights, err := x.pooling.weights(b, arena)
		if err != nil {
			return nil, err
		}
		for i := range out {
			if out[i].Pooling = weights[b.offset[i]:b.offset[i+1]]; b.stage == documentStage {
				out[i] = explainDocument(out[i].Pooling, b.sources[i])
			}
		}
	}
	if x.share == nil {
		return out, nil
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
			var sampled []SampledToken
			for j := b.sampleOffset[i]; j < b.sampleOffset[i]+count[i]; j++ {
				mass := x.mass(received, int(j))
				sampled = append(sampled, SampledToken{top[j], float64(p[j]), mass})
				if partner[j] >= 0 {
					sampled = append(sampled, SampledToken{partner[j], 1 - float64(p[j]), mass})
				}
			}
			out[i].Layers = append(out[i].Layers, sampled)
		}
	}
	return out, nil
}

// mass returns the mass M_j of duplet j.
func (x *explained) mass(received []float32, j int) (sum float64) {
	d := x.share.Width()
	for head := range x.heads {
		sum += float64(received[j*d+head*(d/x.heads)])
	}
	return sum
}

// SampledToken is a token that a layer sampled, with its weight in its duplet and the duplet's
// mass.
type SampledToken struct {
	Position     int32
	Weight, Mass float64
}

// ExplainedSequence lists the tokens that each layer sampled, and the weight of each token in the
// vector that the head reads. Pooling is nil if the head reads each token. A chunked model has
// chunks instead of layers.
type ExplainedSequence struct {
	Layers  [][]SampledToken
	Pooling []float32
	Chunks  []ExplainedChunk
}
