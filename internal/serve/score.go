package serve

import (
	"encoding/json"

	"sftseq/internal/requests"
	"sftseq/sft"
)

var scoreFields = fieldsOf([]string{"_a", "_b"}, append(manyFields, "pairs", "explain")...)

// score is retrieval/score.
func (c *call) score() (any, error) { return c.run("pairs", scoreFields, c.scoreOne) }

func (c *call) scoreOne(path string, fields map[string]json.RawMessage) *item {
	a, err := c.sequence(path, fields, "_a")
	if err != nil {
		return &item{err: err}
	}
	b, err := c.sequence(path, fields, "_b")
	if err != nil {
		return &item{err: err}
	}
	r, err := c.fit(a, b)
	if err != nil {
		return &item{err: err}
	}
	what, err := parseExplain(path+"explain", fields["explain"])
	if err != nil {
		return &item{err: err}
	}
	for i, q := range []*sequence{a, b} {
		if err := c.reserveFor(what, q, r.Sequences[i]); err != nil {
			return &item{err: err}
		}
	}
	ctx, done := during(c.ctx, a, b)
	j := c.session.server.batcher.submit(ctx, c.model, what, r.Example())
	return &item{jobs: []*job{j}, done: done, result: func(outputs []sft.Output) (any, error) {
		return requests.NewPrediction(c.model.config, r, outputs[0])
	}}
}
