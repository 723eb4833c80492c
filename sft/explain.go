package sft

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"

	linearmodel "github.com/sftseq/sftseq/internal/linear"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft/internal/model"
)

// Explanation reports which tokens of a sequence the model attended to.
//
// A layer attends to duplets, each a mixture x̂_j = p_j·x_top + (1−p_j)·x_partner of two sampled
// tokens. Let P_ij be the attention of query i of a head to duplet j. Values are linear in x̂ up to
// their bias, so
//
//	O_i = Σ_j P_ij·v̂_j = Σ_j P_ij·(p_j·v_top + (1−p_j)·v_partner)
//
// With h heads and L queries, the share of a layer's attention that a token receives is its weight
// in its duplet times the attention to the duplet:
//
//	mass(top_j) = p_j·M_j, mass(partner_j) = (1−p_j)·M_j, M_j = 1/(h·L) Σ_heads Σ_i P_ij
//
// The masses of a layer add up to the mean of the row sums of P: to 1 for softmax, and for relu to
// the fraction of rows with a positive score. For leaky_relu the difference to 1 goes to the leak.
//
// Source: "Sampling Foundational Transformer", attention matrix construction.
type Explanation struct {
	Layers []LayerExplanation `json:"layers,omitempty"`
	// Pooling is the weight a_i of each token in u = Σ a_i·x_i, the vector that the head reads:
	// [L], adding up to 1. For max pooling, where u_c = max_j x̂_jc, it is the token's weight in
	// the duplet with the maximum, averaged over the channels c. It is nil for tagging, whose head
	// reads each token's row.
	Pooling []float32 `json:"pooling,omitempty"`
	// Chunks explains a chunked model, whose layers are not explained. Tokens then reach u through
	// the exported rows: with a_r the weight of row r in u, and b_ri the weight of token i in row r,
	//
	//	pooling_i = Σ_r a_r·b_ri
	Chunks []ChunkExplanation `json:"chunks,omitempty"`
	Linear *LinearExplanation `json:"linear,omitempty"` // nil without a linear model
}

// MarshalJSON omits the pooling of a chunked model, because its sequences may have millions of tokens.
func (e Explanation) MarshalJSON() ([]byte, error) {
	if e.Chunks != nil {
		e.Pooling = nil
	}
	type fields Explanation // has no MarshalJSON
	return json.Marshal(fields(e))
}

// ChunkExplanation reports the weight of a chunk, and its tokens with the largest weights.
type ChunkExplanation struct {
	Start  int32   `json:"start"`  // first token
	End    int32   `json:"end"`    // token after the last
	Weight float32 `json:"weight"` // Σ a_r over the chunk's rows
	// Positions holds up to 16 tokens of the chunk, those with the largest weights, in ascending order.
	Positions []int32   `json:"positions"`
	Weights   []float32 `json:"weights"` // pooling_i of each position
}

// LinearExplanation lists the n-grams that contribute most to a linear model's output. For numbers
// the output is the first number, in its own units. For two classes it is the larger logit minus the
// other logit. For more classes and for multi-label it is the largest logit.
type LinearExplanation struct {
	Output int `json:"output"` // index of the class, label or number
	// NGrams holds up to 32 n-grams with the largest absolute contributions, in descending order. In
	// a fusion the contributions are to the fusion's logit.
	NGrams []NGramExplanation `json:"ngrams"`
	// Rest is the sum of the contributions of all other n-grams of the sequence. Outside a fusion,
	// the contributions of all n-grams and the bias, which is the output for a row without n-grams,
	// add up to the output of the linear model. For pairs they add up to the part of the output that
	// depends on n-grams.
	Rest float32 `json:"rest"`
	// Shared lists at most 32 words or tokens that both sequences of a pair have, and their
	// contributions to the cosine. Both explanations have the same list, with the places in their own
	// sequence.
	Shared []NGramExplanation `json:"shared,omitempty"`
}

// NGramExplanation is an n-gram of a sequence with its contribution.
type NGramExplanation struct {
	Text         string     `json:"text,omitempty"` // set by predict --explain if the model has a tokenizer
	Places       [][2]int32 `json:"places"`         // at most 8 ranges of tokens, [first, last+1)
	Contribution float32    `json:"contribution"`
}

// LayerExplanation lists the tokens that a layer sampled, up to k tops and k partners, by ascending
// position. Other tokens are only queries.
type LayerExplanation struct {
	Positions []int32   `json:"positions"`
	Weights   []float32 `json:"weights"` // weight in the duplet: p_j of a top, 1−p_j of a partner
	Mass      []float32 `json:"mass"`    // share of the layer's attention
}

// Explain scores examples with outputs bitwise identical to those of [Scorer.Examples], and explains
// each of their sequences. For a model with layers and without chunks, it also computes the backward pass of
// attention, which on a CPU takes about twice the time and memory of [Scorer.Examples]. In a fusion it
// explains the linear model and the first model with layers.
func (s *Scorer) Explain(ctx context.Context, examples []seq.Example) ([]Output, error) {
	if err := s.CanExplain(); err != nil {
		return nil, err
	}
	if s.others == nil && s.linear == nil && s.fusion == nil {
		return s.score(ctx, examples, model.ExplainMode)
	}
	out, err := s.Examples(ctx, examples)
	if err != nil {
		return nil, err
	}
	for i := range out {
		out[i].Explanations = make([]Explanation, s.Config().Sequences())
	}
	layersExplained := false
	for m, member := range append([]*Scorer{s}, s.others...) {
		inputs, scale := examples, 1.0
		if s.fusion != nil {
			inputs, scale = truncate(member.Config(), examples), s.fusion.Weights[m]/s.fusion.Temperature
		}
		switch {
		case member.linear != nil:
			err = member.linear.explain(ctx, inputs, out, scale)
		case !layersExplained:
			layersExplained = true
			err = member.explainLayers(ctx, inputs, out)
			if s.fusion != nil {
				widenLayers(memberWindow(member.Config()), examples, out)
			}
		}
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// widenLayers converts explanations of the tokens in a member's window to explanations of whole
// examples.
func widenLayers(w seq.Window, examples []seq.Example, out []Output) {
	for i, o := range out {
		for n := range o.Explanations {
			o.Explanations[n].widen(w, len([][]int32{examples[i].A, examples[i].B}[n]))
		}
	}
}

// InRow converts an explanation of the tokens that a window reads to the whole sequence of n
// tokens, if the window has a tail. Positions and places then count all tokens, and tokens outside
// the window have the pooling weight 0.
func (e *Explanation) InRow(w seq.Window, n int) {
	if w.Tail == 0 {
		return
	}
	e.widen(w, n)
	if e.Linear == nil {
		return
	}
	for _, g := range slices.Concat(e.Linear.NGrams, e.Linear.Shared) {
		for i, p := range g.Places {
			g.Places[i] = [2]int32{int32(w.Position(int(p[0]), n)), int32(w.Position(int(p[1])-1, n) + 1)}
		}
	}
}

// widen converts layers and pooling like InRow, also for windows without a tail.
func (e *Explanation) widen(w seq.Window, n int) {
	if w.Count(n) == n {
		return
	}
	for _, l := range e.Layers {
		for i, p := range l.Positions {
			l.Positions[i] = int32(w.Position(int(p), n))
		}
	}
	if e.Pooling == nil {
		return
	}
	pooling := make([]float32, n)
	for i, weight := range e.Pooling {
		pooling[w.Position(i, n)] = weight
	}
	e.Pooling = pooling
}

// CanExplain returns an error for an ensemble that is not a fusion, and for a chunked model of tags,
// because they have no explanations.
func (s *Scorer) CanExplain() error {
	if s.others != nil && s.fusion == nil {
		return ErrEnsemble
	}
	if c := s.Config(); c.Chunks != nil && c.PerToken() {
		return model.ErrNoTokenExplanations
	}
	return nil
}

// explainLayers adds the explanation of a model with layers to out.
func (s *Scorer) explainLayers(ctx context.Context, examples []seq.Example, out []Output) error {
	explained, err := s.score(ctx, examples, model.ExplainMode)
	for i, o := range explained {
		for n, e := range o.Explanations {
			x := &out[i].Explanations[n]
			x.Layers, x.Pooling, x.Chunks = e.Layers, e.Pooling, e.Chunks
		}
	}
	return err
}

// ExplanationNumbers returns an upper bound on the count of numbers in the explanation of a sequence
// with this number of tokens.
func (s *Scorer) ExplanationNumbers(tokens int) (n int) {
	if l := s.layeredRunner(); l != nil {
		c := l.Config()
		if x := c.Chunks; x != nil {
			// No chunk but the last is shorter than Average/4.
			n += tokens + (tokens/(x.Average/4)+1)*(3+2*model.ChunkTokens)
		} else {
			n += tokens + 3*min(tokens, 2*c.NumSampledTokens)*c.NumLayers
		}
	}
	if s.linear != nil || s.fusion != nil {
		n += 2 * linearmodel.MaxExplained * (1 + 2*linearmodel.MaxPlaces)
	}
	return n
}

// explanationOf returns the explanation of a sequence, with tokens in the order of their positions.
func explanationOf(x model.ExplainedSequence) Explanation {
	e := Explanation{Pooling: x.Pooling}
	for _, sampled := range x.Layers {
		e.Layers = append(e.Layers, explainLayer(sampled))
	}
	for _, c := range x.Chunks {
		e.Chunks = append(e.Chunks, explainChunk(c))
	}
	return e
}

func explainChunk(x model.ExplainedChunk) ChunkExplanation {
	e := ChunkExplanation{Start: x.Start, End: x.End, Weight: float32(x.Weight)}
	slices.SortFunc(x.Tokens, func(a, b model.SampledToken) int { return cmp.Compare(a.Position, b.Position) })
	for _, t := range x.Tokens {
		e.Positions, e.Weights = append(e.Positions, t.Position), append(e.Weights, float32(t.Weight))
	}
	return e
}

func explainLayer(sampled []model.SampledToken) LayerExplanation {
	slices.SortFunc(sampled, func(a, b model.SampledToken) int { return cmp.Compare(a.Position, b.Position) })
	n := len(sampled)
	e := LayerExplanation{Positions: make([]int32, n), Weights: make([]float32, n), Mass: make([]float32, n)}
	for i, t := range sampled {
		e.Positions[i], e.Weights[i], e.Mass[i] = t.Position, float32(t.Weight), float32(t.Weight*t.Mass)
	}
	return e
}
