package requests

import (
	"encoding/json"
	"slices"

	"github.com/sftseq/sftseq/sft"
)

// Refusal is the reply to a bad line.
type Refusal struct {
	ID    json.RawMessage `json:"id"`
	Error *Failure        `json:"error"`
}

// Prediction is the reply to a line that is classified.
type Prediction struct {
	ID            json.RawMessage `json:"id,omitempty"`
	Label         any             `json:"label"`
	Logits        []float32       `json:"logits"`
	Probabilities []float32       `json:"probabilities"`
	Sizes
	Explained
}

// Explained is what of a sequence was read, or of each of a pair, if that was asked for.
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

// NewPrediction says what a model made of a request. Output that JSON cannot
// hold is a [*Failure].
func NewPrediction(c *sft.Config, r *Request, o sft.Output) (Prediction, error) {
	if !finite(o.Logits) {
		return Prediction{}, errNonFinite()
	}
	return Prediction{ID: r.ID, Label: c.Label(sft.Argmax(o.Logits)), Logits: o.Logits, Probabilities: sft.Probabilities(o.Logits), Sizes: newSizes(c, r), Explained: newExplained(o)}, nil
}

// Numbers is the reply to a line whose numbers are predicted.
type Numbers struct {
	ID      json.RawMessage `json:"id,omitempty"`
	Numbers NamedNumbers    `json:"numbers"`
	Sizes
	Explained
}

// NamedNumbers are numbers in the order of their names, an object in JSON.
type NamedNumbers struct {
	Names  []string
	Values []float32
}

// MarshalJSON writes an object whose keys have the order of the model's numbers.
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

// NewNumbers says what numbers a model predicts of a request. Output that JSON cannot hold is a
// [*Failure].
func NewNumbers(c *sft.Config, r *Request, o sft.Output) (Numbers, error) {
	if !finite(o.Logits) {
		return Numbers{}, errNonFinite()
	}
	return Numbers{ID: r.ID, Numbers: NamedNumbers{c.NumberNames(), o.Numbers}, Sizes: newSizes(c, r), Explained: newExplained(o)}, nil
}

// Embedding is the reply to a line that is embedded.
type Embedding struct {
	ID         json.RawMessage `json:"id,omitempty"`
	Embedding  []float32       `json:"embedding,omitempty"`
	EmbeddingA []float32       `json:"embedding_a,omitempty"`
	EmbeddingB []float32       `json:"embedding_b,omitempty"`
	Sizes
}

// NewEmbedding holds the vectors of a request's sequences. What JSON cannot hold
// is a [*Failure].
func NewEmbedding(c *sft.Config, r *Request, vectors [][]float32) (Embedding, error) {
	for _, v := range vectors {
		if !finite(v) {
			return Embedding{}, errNonFinite()
		}
	}
	if len(vectors) == 2 {
		return Embedding{ID: r.ID, EmbeddingA: vectors[0], EmbeddingB: vectors[1], Sizes: newSizes(c, r)}, nil
	}
	return Embedding{ID: r.ID, Embedding: vectors[0], Sizes: newSizes(c, r)}, nil
}

// Sizes are a reply's numbers of tokens.
type Sizes struct {
	Length  int  `json:"length"` // of both sequences of a pair
	LengthA *int `json:"length_a,omitempty"`
	LengthB *int `json:"length_b,omitempty"`
	Used    *int `json:"used,omitempty"` // read by the model, where an input window may cut
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

// errNonFinite is for what JSON cannot hold.
func errNonFinite() error { return Fail(CodeInternal, "the model's output is not finite") }

func finite(x []float32) bool {
	return !slices.ContainsFunc(x, func(v float32) bool { return v-v != 0 })
}
