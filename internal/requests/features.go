package requests

import (
	"encoding/json"
	"strings"
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
	var features [][]float32
	if err := json.Unmarshal(value, &features); err != nil {
		return Fail(CodeParams, "features: expected a list of lists of numbers: %v", err)
	}
	used, err := p.Config.WindowFeatures(features)
	if err != nil {
		return Fail(CodeParams, "features: %v", err)
	}
	r.Features, r.Sequences, r.Lengths = used, [][]int32{nil}, []int{len(features)}
	return nil
}
