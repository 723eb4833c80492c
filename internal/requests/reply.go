package requests

import (
	"encoding/json"
	"slices"

	"github.com/sftseq/sftseq/internal/jsonlines"
	"github.com/sftseq/sftseq/internal/table"
	"github.com/sftseq/sftseq/sft"
)

// Refusal is the reply to an invalid line.
type Refusal struct {
	ID    json.RawMessage `json:"id"`
	Error *Failure        `json:"error"`
}

// Task is the part of a model's task that replies need. Package task has an implementation for each
// task.
type Task interface {
	// Prediction returns the JSON object that represents an output in a reply.
	Prediction(r *Request, o sft.Output) (any, error)
}

// Reply is the reply to a line: one JSON object with the fields of all its parts.
type Reply struct {
	ID         json.RawMessage
	Prediction any // see [Task]
	Sizes
	Explained
}

// NewReply returns the reply for an output. For logits that are not finite, the error is a [*Failure].
func NewReply(t Task, c *sft.Config, r *Request, o sft.Output) (Reply, error) {
	if err := CheckFinite(o); err != nil {
		return Reply{}, err
	}
	a, err := t.Prediction(r, o)
	return Reply{r.ID, a, newSizes(c, r), newExplained(o)}, err
}

// InRow converts the positions in explanations, which count the tokens that the model read, to
// positions in the request's whole sequences. See [sft.Explanation.InRow].
func (r *Request) InRow(c *sft.Config, o sft.Output) {
	for i := range o.Explanations {
		o.Explanations[i].InRow(c.ReadWindow(), r.Lengths[i])
	}
}

// Parts returns the objects whose fields form the reply.
func (r Reply) Parts() []any {
	id := struct {
		ID json.RawMessage `json:"id,omitempty"`
	}{r.ID}
	return []any{id, r.Prediction, r.Sizes, r.Explained}
}

// MarshalJSON writes the fields of all parts as one object.
func (r Reply) MarshalJSON() ([]byte, error) { return jsonlines.Join(r.Parts()...) }

// Columns are the columns of a prediction in a table, with a function that returns a prediction's values.
type Columns struct {
	Columns []table.OutputColumn
	Values  func(prediction any) []any
}

// JSONColumns returns columns with the given names for JSON lines. values returns a prediction's value for
// each column.
func JSONColumns(values func(prediction any) []any, names ...string) Columns {
	c := Columns{Values: values}
	for _, name := range names {
		c.Columns = append(c.Columns, table.OutputColumn{Name: name, Kind: table.ObjectColumn})
	}
	return c
}

// Explained has the requested explanation of a sequence, or of both sequences of a pair.
type Explained struct {
	Explain  *sft.Explanation `json:"explain,omitempty"`
	ExplainA *sft.Explanation `json:"explain_a,omitempty"`
	ExplainB *sft.Explanation `json:"explain_b,omitempty"`
}

func newExplained(o sft.Output) (e Explained) {
	switch len(o.Explanations) {
	case 1:
		e.Explain = &o.Explanations[0]
	case 2:
		e.ExplainA, e.ExplainB = &o.Explanations[0], &o.Explanations[1]
	}
	return e
}

// NamedNumbers is a JSON object of numbers in the order of Names.
type NamedNumbers struct {
	Names  []string
	Values []float32
}

// MarshalJSON writes the object with its keys in the order of Names.
func (n NamedNumbers) MarshalJSON() ([]byte, error) {
	out := []byte{'{'}
	for i, name := range n.Names {
		if i > 0 {
			out = append(out, ',')
		}
		key, err := json.Marshal(name)
		if err != nil {
			return nil, err
		}
		value, err := json.Marshal(n.Values[i])
		if err != nil {
			return nil, err
		}
		out = append(append(append(out, key...), ':'), value...)
	}
	return append(out, '}'), nil
}

// Embedding is the reply to a request for embeddings.
type Embedding struct {
	ID         json.RawMessage `json:"id,omitempty"`
	Embedding  []float32       `json:"embedding,omitempty"`
	EmbeddingA []float32       `json:"embedding_a,omitempty"`
	EmbeddingB []float32       `json:"embedding_b,omitempty"`
	Sizes
}

// NewEmbedding returns the reply with the vectors of a request's sequences. For vectors that are not
// finite, the error is a [*Failure].
func NewEmbedding(c *sft.Config, r *Request, vectors [][]float32) (Embedding, error) {
	for _, v := range vectors {
		if !isFinite(v) {
			return Embedding{}, errNonFinite()
		}
	}
	if len(vectors) == 2 {
		return Embedding{ID: r.ID, EmbeddingA: vectors[0], EmbeddingB: vectors[1], Sizes: newSizes(c, r)}, nil
	}
	return Embedding{ID: r.ID, Embedding: vectors[0], Sizes: newSizes(c, r)}, nil
}

// Sizes are the token counts in a reply.
type Sizes struct {
	Length  int  `json:"length"` // tokens; the sum over both sequences of a pair
	LengthA *int `json:"length_a,omitempty"`
	LengthB *int `json:"length_b,omitempty"`
	Used    *int `json:"used,omitempty"` // tokens read by the model, if it has an input window
}

func newSizes(c *sft.Config, r *Request) Sizes {
	var z Sizes
	for _, n := range r.Lengths {
		z.Length += n
	}
	if len(r.Lengths) == 2 {
		z.LengthA, z.LengthB = &r.Lengths[0], &r.Lengths[1]
	}
	if c.InputWindow != nil {
		n := r.Tokens()
		z.Used = &n
	}
	return z
}

// CheckFinite returns a [*Failure] unless all logits are finite. JSON has no NaN or infinity.
func CheckFinite(o sft.Output) error {
	if !isFinite(o.Logits) {
		return errNonFinite()
	}
	return nil
}

// errNonFinite returns the error for NaN and infinities, which JSON cannot represent.
func errNonFinite() error { return Fail(CodeInternal, "the model's output is not finite") }

func isFinite(x []float32) bool {
	return !slices.ContainsFunc(x, func(v float32) bool { return v-v != 0 }) // NaN or infinite
}
