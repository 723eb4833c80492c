package serve

import (
	"encoding/json"

	"github.com/sftseq/sftseq/internal/requests"
	"github.com/sftseq/sftseq/internal/serve/batching"
	"github.com/sftseq/sftseq/sft"
)

// classification answers sequence/classify: what predict says of a sequence, and
// where it comes from.
type classification struct {
	requests.Prediction
	origin
	Window  *windowed      `json:"window,omitempty"`
	Windows []windowResult `json:"windows,omitempty"`
}

var classifyFields = fieldsOf([]string{""}, append(manyFields, "sequences", "window", "explain", idField)...)

// classifyOne is sequence/classify.
func (c *call) classifyOne(path string, fields map[string]json.RawMessage) *item {
	q, w, err := c.wholeSequence(path, fields)
	if err != nil {
		return &item{err: err}
	}
	what, err := c.parseExplain(path+"explain", fields["explain"])
	if err != nil {
		return &item{err: err}
	}
	return c.classifySequence(what, q, w)
}

// classifySequence is the classification of a sequence, or of its windows; what is
// classify or explain.
func (c *call) classifySequence(what batching.Work, q *sequence, w *window) *item {
	i, cuts, err := c.wholeItem(what, q, w)
	if err != nil {
		return &item{err: err}
	}
	config := c.model.config
	i.result = func(outputs []sft.Output) (any, error) {
		return newClassification(config, q, w, cuts, outputs)
	}
	return i
}

func newClassification(config *sft.Config, q *sequence, w *window, cuts []cut, outputs []sft.Output) (any, error) {
	out := classification{origin: q.origin()}
	shift(outputs, cuts)
	var err error
	if out.Prediction, err = requests.NewPrediction(config, q.request(cuts[0]), outputs[0]); err != nil {
		return nil, err
	}
	if w != nil {
		return out, out.addWindows(config, w, cuts, outputs)
	}
	return out, nil
}
