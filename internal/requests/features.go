package requests

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/sftseq/sftseq/internal/jsonlines"
	"github.com/sftseq/sftseq/seq"
)

// fillFeatures sets the sequence of a line whose tokens have feature vectors instead of ids:
//
//	{"features": [[0.1, 0.2, 0.3], [0.4, 0.5, 0.6]]}
//	{"features": [0.1, 0.2]}  a series with one number per step
//
// A graph also has edges. Each edge lists its two ends and then its features, if the model uses features
// for edges: "edges": [[0, 1], [1, 0]].
func (p *Parser) fillFeatures(r *Request, fields map[string]json.RawMessage) error {
	value := fields["features"]
	switch {
	case !p.Config.HasFeatures():
		return Fail(CodeRequest, "found features, but the model reads tokens")
	case value == nil:
		return Fail(CodeRequest, "expected features, %s", p.FeatureList())
	}
	for _, name := range []string{"tokens", "text", "tokens_a", "text_a", "tokens_b", "text_b"} {
		if fields[name] != nil {
			return Fail(CodeRequest, "found both features and %s, expected one of them", name)
		}
	}
	switch edged := p.Config.Edged(); {
	case edged && fields["edges"] == nil:
		return Fail(CodeRequest, "expected edges, %s", p.EdgeList())
	case !edged && fields["edges"] != nil:
		return Fail(CodeRequest, "found edges, but the model does not use edges")
	}
	if field, err := p.ReadGraph(r, value, fields["edges"]); err != nil {
		return Fail(CodeParams, "%s: %v", field, err)
	}
	return nil
}

// FeatureList describes the expected list of features, for errors.
func (p *Parser) FeatureList() string {
	return fmt.Sprintf("a list of %s for each token", strings.Join(p.Config.FeatureNames, ", "))
}

// EdgeList describes the expected list of edges, for errors.
func (p *Parser) EdgeList() string {
	return fmt.Sprintf("a list of %s for each edge",
		strings.Join(append([]string{"source", "target"}, p.Config.EdgeFeatureNames...), ", "))
}

// ReadGraph sets the sequence of a request from the values of the fields features and edges. edges
// is nil for a model without edges. With an error, it returns the name of the invalid field.
func (p *Parser) ReadGraph(r *Request, features, edges json.RawMessage) (field string, err error) {
	rows, err := p.features(features)
	if err != nil {
		return "features", err
	}
	var list []seq.Edge
	if edges != nil {
		if list, err = seq.ParseEdges(edges); err != nil {
			return "edges", err
		}
	}
	return p.setGraph(r, rows, list)
}

// features parses a list of feature vectors. For a series with one number per step, the list may
// also consist of numbers.
func (p *Parser) features(list json.RawMessage) ([][]float32, error) {
	inner := bytes.TrimLeft(bytes.TrimPrefix(list, []byte("[")), " \t\r\n")
	if len(p.Config.FeatureNames) != 1 || p.Config.Edged() || list[0] != '[' || inner[0] == '[' || inner[0] == ']' {
		return jsonlines.Features(list)
	}
	numbers, err := jsonlines.Numbers(list)
	rows := make([][]float32, len(numbers))
	for i := range rows {
		rows[i] = numbers[i : i+1 : i+1]
	}
	return rows, err
}

// SetFeatures sets the sequence of a request for a model that reads features without edges.
func (p *Parser) SetFeatures(r *Request, features [][]float32) error {
	if p.Config.Edged() {
		return errors.New("the model reads graphs, but a column of features has no edges: use JSON lines or an Arrow " +
			"file of sequences")
	}
	_, err := p.setGraph(r, features, nil)
	return err
}

// setGraph sets the sequence of a request. With an error, it returns the name of the invalid field.
func (p *Parser) setGraph(r *Request, features [][]float32, edges []seq.Edge) (field string, err error) {
	used, err := p.Config.WindowFeatures(features)
	if err != nil {
		return "features", err
	}
	if err := p.Config.CheckEdges(edges, len(features)); err != nil {
		return "edges", err
	}
	edges = seq.EdgesWithin(edges, len(used))
	if len(used) < len(features) { // without a copy, the whole list would be kept with the request
		used = slices.Clone(used)
		for i := range used {
			used[i] = slices.Clone(used[i])
		}
	}
	r.Features, r.Edges, r.Sequences, r.Lengths = used, edges, [][]int32{nil}, []int{len(features)}
	return "", nil
}
