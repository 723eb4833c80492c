package serve

import (
	"encoding/json"

	"sftseq/internal/index"
	"sftseq/internal/requests"
	"sftseq/seq"
	"sftseq/sft"
)

var addFields = fieldsOf([]string{""}, append(manyFields, "items", "id")...)

// added answers retrieval/add.
type added struct {
	ID     string `json:"id"`
	Length int    `json:"length"`
	URI    string `json:"uri,omitempty"`
}

// add is retrieval/add: an item, or many. An item of a known id is replaced. The
// answer comes when the items are on the disk.
func (c *call) add() (any, error) { return c.run("items", addFields, c.addOne) }

func (c *call) addOne(path string, fields map[string]json.RawMessage) *item {
	id, err := itemID(path+"id", fields["id"])
	if err != nil {
		return &item{err: err}
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
	// On its own, so that the items of one request share a synchronisation.
	stored := make(chan error, 1)
	go func() { stored <- c.store(id, r, j) }()
	return &item{jobs: []*job{j}, done: done, result: func([]sft.Output) (any, error) {
		if err := <-stored; err != nil {
			return nil, err
		}
		out := added{ID: id, Length: len(q.tokens)}
		if q.document != nil {
			out.URI = q.document.uri
		}
		return out, nil
	}}
}

// store puts the embedding of a job into the index.
func (c *call) store(id string, r *requests.Request, j *job) error {
	out, err := j.wait()
	if err != nil {
		return err
	}
	if _, err := requests.NewEmbedding(c.model.config, r, out.Embeddings); err != nil {
		return err
	}
	if err := c.session.server.index.Add(index.Item{ID: id, Tokens: r.Sequences[0], Vector: out.Embeddings[0]}); err != nil {
		return indexFailed(err)
	}
	return nil
}
