package requests

import (
	"encoding/json"

	"github.com/sftseq/sftseq/sft"
)

// Tags is the reply to a line whose tokens have features and are tagged: they have no order, so that
// tags make no spans.
type Tags struct {
	ID     json.RawMessage `json:"id,omitempty"`
	Tags   []any           `json:"tags"`   // of each token that is read
	Scores []float32       `json:"scores"` // the probability of each
	Sizes
	Explained // whose positions are tokens
}

// NewTags says what tags a model gives the tokens of a request. Output that JSON cannot hold is a
// [*Failure].
func NewTags(c *sft.Config, r *Request, o sft.Output) (Tags, error) {
	if !finite(o.Logits) {
		return Tags{}, errNonFinite()
	}
	out := Tags{ID: r.ID, Sizes: newSizes(c, r), Explained: newExplained(o)}
	for i, tag := range c.TagsOf(o.Logits) {
		out.Tags = append(out.Tags, c.Label(int(tag)))
		out.Scores = append(out.Scores, sft.Probabilities(o.Logits[i*c.NumLabels : (i+1)*c.NumLabels])[tag])
	}
	return out, nil
}
