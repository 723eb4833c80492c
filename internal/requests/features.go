package requests

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/sftseq/sftseq/internal/jsonlines"
)

// fillFeatures reads the sequence of a line whose tokens have numbers in place of ids:
//
//	{"features": [[0.1, 0.2, 0.3], [0.4, 0.5, 0.6]]}
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
	if err := p.SetFeatures(r, features); err != nil {
		return Fail(CodeParams, "features: %v", err)
	}
	return nil
}

// SetFeatures makes features the sequence of a request.
func (p *Parser) SetFeatures(r *Request, features [][]float32) error {
	used, err := p.Config.WindowFeatures(features)
	if err != nil {
		return err
	}
	if len(used) < len(features) { // all of them would be kept as long as the request
		used = slices.Clone(used)
		for i := range used {
			used[i] = slices.Clone(used[i])
		}
	}
	r.Features, r.Sequences, r.Lengths = used, [][]int32{nil}, []int{len(features)}
	return nil
}
