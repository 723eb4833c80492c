package requests

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/sftseq/sftseq/internal/jsonlines"
	"github.com/sftseq/sftseq/seq"
)

// fillFeatures reads the sequence of a line whose tokens have numbers in place of ids:
//
//	{"features": [[0.1, 0.2, 0.3], [0.4, 0.5, 0.6]]}
//
// Those of a graph have edges, too: "edges": [[0, 1], [1, 0]], with their features behind the ends.
func (p *Parser) fillFeatures(r *Request, fields map[string]json.RawMessage) error {
	value := fields["features"]
	switch {
	case !p.Config.Featured():
		return Fail(CodeRequest, "features, but the model reads tokens")
	case value == nil:
		return Fail(CodeRequest, "expected features, a list of %s for each token", strings.Join(p.Config.FeatureNames, ", "))
	}
	for _, name := range []string{"tokens", "text", "tokens_a", "text_a", "tokens_b", "text_b"} {
		if fields[name] != nil {
			return Fail(CodeRequest, "both features and %s, expected one of them", name)
		}
	}
	features, err := jsonlines.Features(value)
	if err != nil {
		return Fail(CodeParams, "features: %v", err)
	}
	var edges []seq.Edge
	switch value, edged := fields["edges"], p.Config.Edged(); {
	case edged && value == nil:
		return Fail(CodeRequest, "expected edges, a list of %s for each", strings.Join(append([]string{"source", "target"}, p.Config.EdgeFeatureNames...), ", "))
	case edged:
		if edges, err = seq.ParseEdges(value); err != nil {
			return Fail(CodeParams, "edges: %v", err)
		}
	case value != nil:
		return Fail(CodeRequest, "edges, but the model knows none")
	}
	if err := p.setGraph(r, features, edges); err != nil {
		return Fail(CodeParams, "features: %v", err)
	}
	return nil
}

// SetFeatures makes features the sequence of a request, of a model that reads no edges.
func (p *Parser) SetFeatures(r *Request, features [][]float32) error {
	if p.Config.Edged() {
		return errors.New("the model reads graphs, and a table has no edges: lines of JSON and Arrow files of sequences do")
	}
	return p.setGraph(r, features, nil)
}

func (p *Parser) setGraph(r *Request, features [][]float32, edges []seq.Edge) error {
	used, edges, err := p.Config.WindowGraph(features, edges)
	if err != nil {
		return err
	}
	if len(used) < len(features) { // all of them would be kept as long as the request
		used = slices.Clone(used)
		for i := range used {
			used[i] = slices.Clone(used[i])
		}
	}
	r.Features, r.Edges, r.Sequences, r.Lengths = used, edges, [][]int32{nil}, []int{len(features)}
	return nil
}
