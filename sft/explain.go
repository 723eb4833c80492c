package sft

import (
	"cmp"
	"context"
	"slices"

	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft/internal/model"
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
	return s.score(ctx, examples, model.ExplainMode)
}

// explanationOf puts the tokens that each layer sampled in the order of their positions.
func explanationOf(x model.ExplainedSequence) Explanation {
	e := Explanation{Pooling: x.Pooling}
	for _, read := range x.Layers {
		e.Layers = append(e.Layers, explainLayer(read))
	}
	return e
}

func explainLayer(read []model.SampledToken) LayerExplanation {
	slices.SortFunc(read, func(a, b model.SampledToken) int { return cmp.Compare(a.Position, b.Position) })
	n := len(read)
	e := LayerExplanation{Positions: make([]int32, n), Weights: make([]float32, n), Mass: make([]float32, n)}
	for i, t := range read {
		e.Positions[i], e.Weights[i], e.Mass[i] = t.Position, float32(t.Weight), float32(t.Weight*t.Mass)
	}
	return e
}
