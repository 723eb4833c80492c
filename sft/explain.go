package sft

import (
	"cmp"
	"context"
	"slices"

	linearmodel "github.com/sftseq/sftseq/internal/linear"
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
	Layers []LayerExplanation `json:"layers,omitempty"`
	// Pooling has the weight a_i of each token in u = Σ a_i·x_i, the vector that
	// the head reads: [L], adding up to 1. Where u_c = max_j x̂_jc, it is the token's part of the
	// x̂_j that the channels c have their maximum of, in the mean over the channels. A model of
	// tagging has none: its head reads each token's row.
	Pooling []float32          `json:"pooling,omitempty"`
	Linear  *LinearExplanation `json:"linear,omitempty"` // nil without a linear model
}

// LinearExplanation says which n-grams a linear model's output follows from. Of classes the output is the logit of the
// class with the largest logit, of two classes its difference to the other one; of several labels the largest logit;
// of numbers the first number, in its own units.
type LinearExplanation struct {
	Output int `json:"output"` // index of the class, label or number
	// NGrams are those with the largest contributions, at most 32. In a fusion contributions are to its logit.
	NGrams []NGramExplanation `json:"ngrams"`
	// Rest is the sum of the contributions of all other n-grams of the sequence. Those of all n-grams and the bias, the
	// output for a row without n-grams, are the output of the linear model, for pairs that of its n-grams.
	Rest float32 `json:"rest"`
	// Shared lists, for pairs, at most 32 words that both sequences have, with their parts of the cosine. The two
	// sequences have the same words, each with its own places.
	Shared []NGramExplanation `json:"shared,omitempty"`
}

// NGramExplanation is an n-gram of a sequence.
type NGramExplanation struct {
	Places       [][2]int32 `json:"places"` // ranges of tokens, from the first to the one behind the last; at most 8
	Contribution float32    `json:"contribution"`
}

// LayerExplanation has the tokens that a layer sampled, tops and partners, at most
// 2k of them, in the order of their positions. All others only asked.
type LayerExplanation struct {
	Positions []int32   `json:"positions"`
	Weights   []float32 `json:"weights"` // in the duplet: p_j of a top, 1−p_j of a partner
	Mass      []float32 `json:"mass"`    // share of the layer's attention
}

// Explain scores examples as [Scorer.Examples] does, to the bit, and explains
// each of their sequences. It also computes the backward pass of attention: on a CPU about
// twice the time and twice the memory. In a fusion the linear model and the first one with
// layers are explained.
func (s *Scorer) Explain(ctx context.Context, examples []seq.Example) ([]Output, error) {
	if err := s.CanExplain(); err != nil {
		return nil, err
	}
	if s.others == nil && s.linear == nil {
		return s.score(ctx, examples, model.ExplainMode)
	}
	out, err := s.Examples(ctx, examples)
	if err != nil {
		return nil, err
	}
	for i := range out {
		out[i].Explanations = make([]Explanation, s.Config().Sequences())
	}
	layered := false
	for m, one := range append([]*Scorer{s}, s.others...) {
		read, scale := examples, 1.0
		if s.fusion != nil {
			read, scale = window(one.Config(), examples), s.fusion.Weights[m]/s.fusion.Temperature
		}
		switch {
		case one.linear != nil:
			err = one.linear.explain(ctx, read, out, scale)
		case !layered:
			layered = true
			err = one.explainLayers(ctx, read, out)
		}
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// CanExplain reports why the scorer cannot explain: several models whose logits are not summed answer together.
func (s *Scorer) CanExplain() error {
	if s.others != nil && s.fusion == nil {
		return ErrEnsemble
	}
	return nil
}

// explainLayers sets what a model with layers read.
func (s *Scorer) explainLayers(ctx context.Context, examples []seq.Example, out []Output) error {
	explained, err := s.score(ctx, examples, model.ExplainMode)
	for i, o := range explained {
		for n, e := range o.Explanations {
			out[i].Explanations[n].Layers, out[i].Explanations[n].Pooling = e.Layers, e.Pooling
		}
	}
	return err
}

// ExplanationNumbers bounds the numbers of the explanation of a sequence with these many tokens.
func (s *Scorer) ExplanationNumbers(tokens int) (n int) {
	if l := s.withLayers(); l != nil {
		c := l.Config()
		n += tokens + 3*min(tokens, 2*c.NumSampledTokens)*c.NumLayers
	}
	if s.linear != nil || s.fusion != nil {
		n += 2 * linearmodel.MaxExplained * (1 + 2*linearmodel.MaxPlaces)
	}
	return n
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
