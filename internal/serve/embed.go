package serve

import (
	"encoding/json"

	"github.com/sftseq/sftseq/internal/requests"
	"github.com/sftseq/sftseq/internal/serve/batching"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
)

var embedFields = fieldsOf([]string{""}, append(listFields, "sequences", idField)...)

// embeddingResult is the result of sequence/embed.
type embeddingResult struct {
	requests.Embedding
	origin
}

// embedOne is the [planFunc] of sequence/embed.
func (c *call) embedOne(path string, fields map[string]json.RawMessage) *item {
	q, err := c.sequence(path, fields, "")
	if err != nil {
		return &item{err: err}
	}
	q.id = fields[idField]
	r, err := c.requestOf(q)
	if err != nil {
		return &item{err: err}
	}
	return &item{work: batching.Embed, examples: []seq.Example{r.Example()}, read: []*sequence{q},
		numbers: c.model.config.HiddenSize + idNumbers(q.id), result: func(outputs []sft.Output) (any, error) {
			out := embeddingResult{origin: q.origin()}
			var err error
			out.Embedding, err = requests.NewEmbedding(c.model.config, r, outputs[0].Embeddings)
			return out, err
		}}
}
