package sft

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/sftseq/sftseq/internal/tensor"
	"github.com/sftseq/sftseq/seq"
)

// plannedEdges are the edges of a token that memory is planned for where the data do not say.
const plannedEdges = 8

// Edged reports whether sequences have edges among their tokens.
func (c *Config) Edged() bool { return c.EdgeFeatureNames != nil }

// describeEdges takes what the data say of edges. They are the relation of tokens that have
// them, unless it is none or was chosen to be distances.
func (c *Config) describeEdges(s seq.Spec) {
	if c.EdgeFeatureNames = s.EdgeFeatureNames; c.Edged() && c.Relative == SinusoidRelation {
		c.Relative = EdgeRelation
	}
}

// validateEdges reports what does not go with edges.
func (c *Config) validateEdges() error {
	switch {
	case !c.Edged() && c.Relative == EdgeRelation:
		return &ConfigError{"relative", EdgeRelation, "another one: there are no edges among the tokens"}
	case !c.Edged():
		return nil
	case !c.Featured():
		return &ConfigError{"edge_feature_names", fmt.Sprintf("%q", c.EdgeFeatureNames), "none: tokens have no features"}
	}
	if err := seq.CheckEdgeFeatureNames(c.EdgeFeatureNames); err != nil {
		return fmt.Errorf("edge_feature_names: %w", err)
	}
	return nil
}

// SameEdges reports that edges have other features than those of the model.
func (c *Config) SameEdges(names []string) error {
	switch {
	case c.Edged() && names == nil:
		return fmt.Errorf("it has no edges, the model's have the features %q", c.EdgeFeatureNames)
	case !c.Edged() && names != nil:
		return errors.New("it has edges, the model knows none")
	case !slices.Equal(names, c.EdgeFeatureNames):
		return fmt.Errorf("the features of its edges are %q, the model's %q", names, c.EdgeFeatureNames)
	}
	return nil
}

// CheckEdges reports the first edge that the model cannot read in a sequence of so many tokens.
func (c *Config) CheckEdges(edges []seq.Edge, tokens int) error {
	if !c.Edged() && edges != nil {
		return errors.New("edges, but the model knows none")
	}
	for i, e := range edges {
		for _, t := range []int32{e.Source, e.Target} {
			if t < 0 || int(t) >= tokens {
				return fmt.Errorf("edge %d is from %d to %d, of tokens 0 to %d", i, e.Source, e.Target, tokens-1)
			}
		}
		if len(e.Features) != len(c.EdgeFeatureNames) {
			return fmt.Errorf("edge %d has %d features, expected %d: %s", i, len(e.Features), len(c.EdgeFeatureNames), strings.Join(c.EdgeFeatureNames, ", "))
		}
		for j, v := range e.Features {
			if v-v != 0 {
				return fmt.Errorf("edge %d: %s is %v, a finite number was expected", i, c.EdgeFeatureNames[j], v)
			}
		}
	}
	return nil
}

// WindowGraph is [Config.Window] for tokens with features, and the edges among them. Of these,
// those are left out that lead beyond the window.
func (c *Config) WindowGraph(features [][]float32, edges []seq.Edge) ([][]float32, []seq.Edge, error) {
	read, err := c.WindowFeatures(features)
	if err == nil {
		err = c.CheckEdges(edges, len(features))
	}
	if err != nil {
		return nil, nil, err
	}
	return read, seq.EdgesWithin(edges, len(read)), nil
}

// plannedLength is the tokens of an example that its memory is planned by: more than it has, if
// these have more edges than is planned for.
func plannedLength(e seq.Example) int {
	return PlannedTokens(e.First(), len(e.Edges))
}

// PlannedTokens is the length to plan the memory of a sequence by that has so many tokens and
// edges.
func PlannedTokens(tokens, edges int) int {
	return max(tokens, (edges+plannedEdges-1)/plannedEdges)
}

// packedEdges are the edges of a batch as attention takes them: those into a token one after
// another, by source. Several of one source and target are joined: their features are added.
type packedEdges struct {
	first, source []int32
	features      []float32 // the last of each edge is the number of those that it is made of
}

// add adds the edges among the next n tokens.
func (p *packedEdges) add(edges []seq.Edge, n, width int) {
	if p.first == nil {
		p.first = []int32{0}
	}
	p.source, p.features = slices.Grow(p.source, len(edges)), slices.Grow(p.features, len(edges)*(width+1))
	into := byTarget(edges, n, width)
	sums := make([]float64, width+1)
	for target := range n {
		order := into.order[into.first[target]:into.first[target+1]]
		slices.Sort(order)
		for at := 0; at < len(order); {
			source := order[at].source()
			clear(sums)
			for ; at < len(order) && order[at].source() == source; at++ {
				for c, v := range into.features[order[at].place()*width:][:width] {
					sums[c] += float64(v)
				}
				sums[width]++
			}
			p.source = append(p.source, source)
			for _, v := range sums {
				p.features = append(p.features, float32(max(-math.MaxFloat32, min(v, math.MaxFloat32)))) // each is finite, their sum may not be
			}
		}
		p.first = append(p.first, int32(len(p.source)))
	}
}

// edgesInto are edges with those into a token one after another, as they are otherwise.
type edgesInto struct {
	first    []int // where those into each token begin, and their number
	order    []edgePlace
	features []float32
}

// edgePlace is the source of an edge and, below it, where its features lie: edges of one source are
// in their order.
type edgePlace uint64

func (e edgePlace) source() int32 { return int32(e >> 32) }
func (e edgePlace) place() int    { return int(uint32(e)) }

// byTarget counts edges by their target and puts them there, with their features. They are read one
// after the other, because there may be millions, which no cache holds.
func byTarget(edges []seq.Edge, n, width int) edgesInto {
	into := edgesInto{make([]int, n+1), make([]edgePlace, len(edges)), make([]float32, len(edges)*width)}
	for i := range edges {
		into.first[edges[i].Target+1]++
	}
	for t := range n {
		into.first[t+1] += into.first[t]
	}
	next := slices.Clone(into.first)
	for i := range edges {
		e := &edges[i]
		at := next[e.Target]
		next[e.Target]++
		into.order[at] = edgePlace(e.Source)<<32 | edgePlace(at)
		copy(into.features[at*width:][:width], e.Features)
	}
	return into
}

// edgeInputs are the edges of a batch as inputs of a pass: see [tensor.EdgeBias].
type edgeInputs struct{ Index, Features *tensor.Tensor }

// edgeInputs declares them.
func (m *emitter) edgeInputs() *edgeInputs {
	return &edgeInputs{
		Index:    m.Input("edge_index", tensor.Fixed, m.shape.Tokens+1+m.shape.Edges),
		Features: m.Input("edge_features", tensor.Fixed, m.shape.Edges, pairFeatures(m.config)),
	}
}

// upload writes a batch's edges. There may be none.
func (e *edgeInputs) upload(p *packedEdges, m tensor.Memory) error {
	tokens := e.Index.Words() - e.Features.Shape[0]
	index := make([]int32, tokens, tokens+len(p.source))
	copy(index, p.first)
	if err := tensor.Upload(m, e.Index, append(index, p.source...)); err != nil || len(p.source) == 0 {
		return err
	}
	return tensor.Upload(m, e.Features, p.features)
}

// edgeRelation is that of the tokens of a graph: see [tensor.EdgeBias].
type edgeRelation struct{ pairWeights }

func (r *edgeRelation) forward(l *layer) tensor.RelativeBias {
	a := &l.attn
	return tensor.EdgeBias{Index: l.edges.Index, Features: l.edges.Features,
		W: r.pack(l), P: a.duplet.P, Top: a.sample.Top, Partner: a.sample.Partner}
}
