package serve

import (
	"encoding/json"
	"slices"

	"sftseq/internal/requests"
	"sftseq/seq"
	"sftseq/sft"
)

var searchFields = fieldsOf([]string{""}, append(manyFields, "k", "rescore")...)

// maxFound is the most items that a search returns.
const maxFound = 10000

// found answers retrieval/search.
type found struct {
	Items  []foundItem `json:"items"` // the best first
	Length int         `json:"length"`
}

type foundItem struct {
	ID     string   `json:"id"`
	Cosine float64  `json:"cosine"`
	Score  *float32 `json:"score,omitempty"` // of a pair, where it was scored again
}

// search is retrieval/search: the k nearest items by cosine, exactly. The first of
// them may be scored again as pairs, query as a, item as b; these then stand
// first, by that score.
func (c *call) search() (any, error) {
	return c.run("", searchFields, c.searchOne)
}

func (c *call) searchOne(path string, fields map[string]json.RawMessage) *item {
	k, err := count("k", fields["k"], 10)
	if err != nil {
		return &item{err: err}
	}
	again, err := count("rescore", fields["rescore"], 0)
	if err != nil {
		return &item{err: err}
	}
	if again > 0 && !c.model.config.Pair() {
		return &item{err: badParam("rescore", "the model does not compare pairs")}
	}
	q, err := c.sequence(path, fields, "")
	if err != nil {
		return &item{err: err}
	}
	r, err := c.fit(q)
	if err != nil {
		return &item{err: err}
	}
	ctx, done := during(c.ctx, q)
	j := c.session.server.batcher.submit(ctx, c.model, embed, seq.Example{A: r.Sequences[0]})
	return &item{jobs: []*job{j}, done: done, result: func(outputs []sft.Output) (any, error) {
		if _, err := requests.NewEmbedding(c.model.config, r, outputs[0].Embeddings); err != nil {
			return nil, err
		}
		hits := c.session.server.index.Search(outputs[0].Embeddings[0], max(k, again))
		out := found{Items: make([]foundItem, len(hits)), Length: len(q.tokens)}
		pairs := make([]*job, min(again, len(hits)))
		for n, h := range hits {
			out.Items[n] = foundItem{ID: h.ID, Cosine: h.Cosine}
			if n < len(pairs) {
				pairs[n] = c.session.server.batcher.submit(ctx, c.model, classify, seq.Example{A: r.Sequences[0], B: h.Tokens, Label: seq.NoLabel})
			}
		}
		for n, j := range pairs {
			o, err := j.wait()
			if err != nil {
				return nil, err
			}
			c.compute += j.compute
			p, err := requests.NewPrediction(c.model.config, &requests.Request{Sequences: [][]int32{{}}}, o)
			if err != nil {
				return nil, err
			}
			out.Items[n].Score = &p.Probabilities[len(p.Probabilities)-1]
		}
		slices.SortStableFunc(out.Items[:len(pairs)], func(a, b foundItem) int {
			switch {
			case *a.Score > *b.Score:
				return -1
			case *a.Score < *b.Score:
				return 1
			}
			return 0
		})
		out.Items = out.Items[:min(k, len(out.Items))]
		return out, nil
	}}
}

// count reads a number of items.
func count(field string, value json.RawMessage, absent int) (int, error) {
	if value == nil {
		return absent, nil
	}
	var n int
	if json.Unmarshal(value, &n) != nil || n < 0 || n > maxFound {
		return 0, badParam(field, "expected 0 to %d, found %s", maxFound, requests.Kind(value))
	}
	return n, nil
}
