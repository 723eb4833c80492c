package serve

import (
	"cmp"
	"encoding/json"
	"slices"

	"github.com/sftseq/sftseq/internal/index"
	"github.com/sftseq/sftseq/internal/jsonlines"
	"github.com/sftseq/sftseq/internal/requests"
	"github.com/sftseq/sftseq/internal/serve/batching"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
)

var searchFields = fieldsOf([]string{""}, append(listFields, "k", "rescore", "lexical")...)

// maxFound is the maximum number of results of a search.
const maxFound = 10000

// searchResult is the result of retrieval/search.
type searchResult struct {
	Items  []searchItem `json:"items"`  // best first
	Length int          `json:"length"` // tokens of the query
}

type searchItem struct {
	ID      string   `json:"id"`
	Cosine  float64  `json:"cosine"`
	Lexical *float64 `json:"lexical,omitempty"` // set if the lexical weight is above 0
	Score   *float32 `json:"score,omitempty"`   // score of the pair, if the item was rescored
}

// searchOne is the [planFunc] of retrieval/search, an exact search for the k nearest items by cosine, or by
// the weighted sum of cosine and lexical score. The first items may be rescored as pairs of the query
// and the item; they then come first, in descending order of this score.
func (c *call) searchOne(path string, fields map[string]json.RawMessage) *item {
	k, err := parseCount("k", fields["k"], 1, 10)
	if err != nil {
		return &item{err: err}
	}
	rescoreCount, err := parseCount("rescore", fields["rescore"], 0, 0)
	if err != nil {
		return &item{err: err}
	}
	if rescoreCount > 0 && c.model.config.Sequences() != 2 {
		return &item{err: badParam("rescore", "the model does not compare pairs")}
	}
	lexical := 0.0
	if value := fields["lexical"]; value != nil {
		if json.Unmarshal(value, &lexical) != nil || !(lexical >= 0 && lexical <= 1) {
			return &item{err: badParam("lexical", "expected a weight from 0 to 1, found %s", jsonlines.Kind(value))}
		}
	}
	q, err := c.sequence(path, fields, "")
	if err != nil {
		return &item{err: err}
	}
	r, err := c.requestOf(q)
	if err != nil {
		return &item{err: err}
	}
	x := c.session.server.index
	i := &item{work: batching.Embed, examples: []seq.Example{{A: r.Sequences[0]}}, read: []*sequence{q},
		numbers: hitNumbers * min(max(k, rescoreCount), x.Len())}
	i.result = func(outputs []sft.Output) (any, error) {
		if _, err := requests.NewEmbedding(c.model.config, r, outputs[0].Embeddings); err != nil {
			return nil, err
		}
		hits, err := x.Search(index.Query{Vector: outputs[0].Embeddings[0], Tokens: r.Sequences[0], Lexical: lexical},
			max(k, rescoreCount), func(piece func()) error { return c.do(0, piece) })
		if err != nil {
			return nil, err
		}
		out := searchResult{Items: make([]searchItem, len(hits)), Length: len(q.tokens)}
		for n, h := range hits {
			if out.Items[n] = (searchItem{ID: h.ID, Cosine: h.Cosine}); lexical > 0 {
				out.Items[n].Lexical = &h.Lexical
			}
		}
		first := hits[:min(rescoreCount, len(hits))]
		if err := c.rescore(out.Items, q, r.Sequences[0], first); err != nil {
			return nil, err
		}
		slices.SortStableFunc(out.Items[:len(first)],
			func(a, b searchItem) int { return cmp.Compare(*b.Score, *a.Score) })
		out.Items = out.Items[:min(k, len(out.Items))]
		return out, nil
	}
	return i
}

// hitNumbers is the approximate memory of a hit's id and scores, in units of numberBytes.
const hitNumbers = 8

// rescore scores each hit as a pair with the query, and stores the score in the item with the same index.
func (c *call) rescore(items []searchItem, q *sequence, query []int32, hits []index.Hit) error {
	if len(hits) == 0 {
		return nil
	}
	pairs := &item{work: batching.Classify, read: []*sequence{q}, numbers: len(hits) * c.model.task.ResponseNumbers(0)}
	for _, h := range hits {
		pairs.examples = append(pairs.examples, seq.Example{A: query, B: h.Tokens, Label: seq.NoLabel})
	}
	pairs.result = func(outputs []sft.Output) (any, error) {
		for n, o := range outputs {
			if err := requests.CheckFinite(o); err != nil {
				return nil, err
			}
			items[n].Score = new(sft.Probabilities(o.Logits)[len(o.Logits)-1])
		}
		return nil, nil
	}
	c.start(pairs)
	defer c.close(pairs)
	_, err := c.wait(pairs)
	return err
}

// parseCount parses a number of items from minimum to maxFound. The parameter absent is the default, used
// if the field is missing.
func parseCount(field string, value json.RawMessage, minimum, absent int) (int, error) {
	if value == nil {
		return absent, nil
	}
	var n int
	if json.Unmarshal(value, &n) != nil || n < minimum || n > maxFound {
		return 0, badParam(field, "expected %d to %d, found %s", minimum, maxFound, jsonlines.Kind(value))
	}
	return n, nil
}
