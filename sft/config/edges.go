package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/sftseq/sftseq/internal/fmath"
	"github.com/sftseq/sftseq/seq"
)

// Edged reports whether sequences have edges between their tokens.
func (c *Config) Edged() bool { return c.EdgeFeatureNames != nil }

// describeEdges sets the names of the edge features from the data. Edges become the relation of
// tokens, unless the configuration selects no relation or distances.
func (c *Config) describeEdges(s seq.Spec) {
	if c.EdgeFeatureNames = s.EdgeFeatureNames; c.Edged() && c.Relative == SinusoidRelation {
		c.Relative = EdgeRelation
	}
}

// validateEdges returns an error for invalid edge features, and for the edge relation without edges.
func (c *Config) validateEdges() error {
	switch {
	case !c.Edged() && c.Relative == EdgeRelation:
		return &Error{"relative", EdgeRelation, "another value, because the tokens have no edges"}
	case !c.Edged():
		return nil
	case !c.HasFeatures():
		return &Error{"edge_feature_names", fmt.Sprintf("%q", c.EdgeFeatureNames),
			"none, because tokens have no features"}
	}
	if err := seq.CheckEdgeFeatureNames(c.EdgeFeatureNames); err != nil {
		return fmt.Errorf("edge_feature_names: %w", err)
	}
	return nil
}

// SameEdges returns an error if names, the edge features of an input, differ from those of the
// model.
func (c *Config) SameEdges(names []string) error {
	switch {
	case c.Edged() && names == nil:
		return fmt.Errorf("expected edges with the features %q, found no edges", c.EdgeFeatureNames)
	case !c.Edged() && names != nil:
		return errors.New("found edges, but the model does not use edges")
	case !slices.Equal(names, c.EdgeFeatureNames):
		return fmt.Errorf("expected the edge features %q of the model, found %q", c.EdgeFeatureNames, names)
	}
	return nil
}

// CheckEdges returns an error for the first invalid edge of a sequence with the given number of tokens.
func (c *Config) CheckEdges(edges []seq.Edge, tokens int) error {
	if !c.Edged() && edges != nil {
		return errors.New("found edges, but the model does not use edges")
	}
	width := len(c.EdgeFeatureNames)
	for i := range edges { // by index, because there may be millions of edges
		e := &edges[i]
		if uint(e.Source) >= uint(tokens) || uint(e.Target) >= uint(tokens) ||
			len(e.Features) != width || !fmath.Finite(e.Features) {
			return c.badEdge(i, e, tokens)
		}
	}
	return nil
}

// badEdge returns the error for an edge that [Config.CheckEdges] refuses.
func (c *Config) badEdge(i int, e *seq.Edge, tokens int) error {
	for _, t := range []int32{e.Source, e.Target} {
		if t < 0 || int(t) >= tokens {
			return fmt.Errorf("edge %d connects tokens %d and %d, expected tokens from 0 to %d", i, e.Source, e.Target, tokens-1)
		}
	}
	if len(e.Features) != len(c.EdgeFeatureNames) {
		return fmt.Errorf("edge %d has %d features, expected %d: %s", i, len(e.Features), len(c.EdgeFeatureNames),
			strings.Join(c.EdgeFeatureNames, ", "))
	}
	at := slices.IndexFunc(e.Features, func(v float32) bool { return v-v != 0 })
	return fmt.Errorf("edge %d: %s is %v, expected a finite number", i, c.EdgeFeatureNames[at], e.Features[at])
}

// WindowGraph is [Config.Window] for tokens with features and the edges between them. It drops
// edges from or to tokens outside the window.
func (c *Config) WindowGraph(features [][]float32, edges []seq.Edge) ([][]float32, []seq.Edge, error) {
	window, err := c.WindowFeatures(features)
	if err == nil {
		err = c.CheckEdges(edges, len(features))
	}
	if err != nil {
		return nil, nil, err
	}
	return window, seq.EdgesWithin(edges, len(window)), nil
}
