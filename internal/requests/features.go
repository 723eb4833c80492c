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

// fillFeatures reads the sequence of a line whose tokens have numbers in place of ids:
//
//	{"features": [[0.1, 0.2, 0.3], [0.4, 0.5, 0.6]]}
//	{"features": [0.1, 0.2]}  of a series of one number a step
//
// Those of a graph have edges, too: "edges": [[0, 1], [1, 0]], with their features behind the ends.
func (p *Parser) fillFeatures(r *Request, fields map[string]json.RawMessage) error {
	value := fields["features"]
	switch {
	case !p.Config.Featured():
		return Fail(CodeRequest, "features, but the model reads tokens")
	case value == nil:
		return Fail(CodeRequest, "expected features, %s", p.FeatureList())
	}
	for _, name := range []string{"tokens", "text", "tokens_a", "text_a", "tokens_b", "text_b"} {
		if fields[name] != nil {
			return Fail(CodeRequest, "both features and %s, expected one of them", name)
		}
	}
	switch edged := p.Config.Edged(); {
	case edged && fields["edges"] == nil:
		return Fail(CodeRequest, "expected edges, %s", p.EdgeList())
	case !edged && fields["edges"] != nil:
		return Fail(CodeRequest, "edges, but the model knows none")
	}
	if place, err := p.ReadGraph(r, value, fields["edges"]); err != nil {
		return Fail(CodeParams, "%s: %v", place, err)
	}
	return nil
}

// FeatureList says what stands in a list of features, for errors.
func (p *Parser) FeatureList() string {
	return fmt.Sprintf("a list of %s for each token", strings.Join(p.Config.FeatureNames, ", "))
}

// EdgeList says what stands in a list of edges.
func (p *Parser) EdgeList() string {
	return fmt.Sprintf("a list of %s for each",
		strings.Join(append([]string{"source", "target"}, p.Config.EdgeFeatureNames...), ", "))
}

// ReadGraph makes the values of the fields features and edges the sequence of a request; of
// a model that reads no edges these are nil. Beside an error is the field at fault.
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

// features reads a list of features. Of a series of one number a step they may also be a list of
// numbers.
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

// SetFeatures makes features the sequence of a request, of a model that reads no edges.
func (p *Parser) SetFeatures(r *Request, features [][]float32) error {
	if p.Config.Edged() {
		return errors.New("the model reads graphs, and a column of features has no edges: lines of JSON and Arrow files of sequences do")
	}
	_, err := p.setGraph(r, features, nil)
	return err
}

// setGraph returns the field at fault beside an error.
func (p *Parser) setGraph(r *Request, features [][]float32, edges []seq.Edge) (field string, err error) {
	used, err := p.Config.WindowFeatures(features)
	if err != nil {
		return "features", err
	}
	if err := p.Config.CheckEdges(edges, len(features)); err != nil {
		return "edges", err
	}
	edges = seq.EdgesWithin(edges, len(used))
	if len(used) < len(features) { // all of them would be kept as long as the request
		used = slices.Clone(used)
		for i := range used {
			used[i] = slices.Clone(used[i])
		}
	}
	r.Features, r.Edges, r.Sequences, r.Lengths = used, edges, [][]int32{nil}, []int{len(features)}
	return "", nil
}
