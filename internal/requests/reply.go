package requests

import (
	"encoding/json"

	"sftseq/sft"
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
}

// NewPrediction says what a model made of a request. Output that JSON cannot
// hold is a [*Failure].
func NewPrediction(c *sft.Config, r *Request, o sft.Output) (Prediction, error) {
	if !finite(o.Logits) {
		return Prediction{}, errNonFinite()
	}
	return Prediction{r.ID, c.Label(sft.Argmax(o.Logits)), o.Logits, sft.Probabilities(o.Logits), newSizes(c, r)}, nil
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

func finite(v []float32) bool {
	for _, x := range v {
		if x-x != 0 {
			return false
		}
	}
	return true
}
