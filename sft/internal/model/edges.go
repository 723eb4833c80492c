package model

import (
	"github.com/sftseq/sftseq/internal/tensor"
)

// edgeInputs holds the edges of a batch as inputs of a pass: see [tensor.EdgeBias].
type edgeInputs struct{ Index, Features *tensor.Tensor }

// edgeInputs declares the inputs for edges.
func (m *emitter) edgeInputs() *edgeInputs {
	return &edgeInputs{
		Index:    m.Input("edge_index", tensor.Fixed, m.shape.Tokens+1+m.shape.Edges),
		Features: m.Input("edge_features", tensor.Fixed, m.shape.Edges, pairFeatures(m.config)),
	}
}

// upload writes a batch's edges, of which there may be none, to the inputs in m.
func (e *edgeInputs) upload(p *packedEdges, m tensor.Memory) error {
	tokens := e.Index.Words() - e.Features.Shape[0]
	for len(p.first) < tokens { // unused rows have no edges
		p.first = append(p.first, 0)
	}
	if err := tensor.Upload(m, e.Index, p.first); err != nil || len(p.source) == 0 {
		return err
	}
	if err := m.Write(e.Index.Offset+tokens, tensor.Bits(p.source)); err != nil {
		return err
	}
	return tensor.Upload(m, e.Features, p.features)
}

// edgeRelation is the relation of two tokens of a graph: see [tensor.EdgeBias].
type edgeRelation struct{ pairWeights }

func (r *edgeRelation) forward(l *layer) tensor.RelativeBias {
	a := &l.attn
	return tensor.EdgeBias{Index: l.edges.Index, Features: l.edges.Features,
		W: r.pack(l), P: a.duplet.P, Top: a.sample.Top, Partner: a.sample.Partner}
}
