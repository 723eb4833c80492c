package requests

import (
	"encoding/json"
	"math"
	"slices"

	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/tokenizers"
)

// Filling is the reply to a line with masks.
type Filling struct {
	ID     json.RawMessage `json:"id,omitempty"`
	Text   *string         `json:"text,omitempty"` // text of the filled tokens, if the model has a tokenizer
	Tokens []int32         `json:"tokens"`         // sequence with the most probable token in place of each mask
	Masks  []FilledMask    `json:"masks"`
	Sizes
}

// FilledMask is a model's prediction for one mask.
type FilledMask struct {
	Position int         `json:"position"`
	Tokens   []Candidate `json:"candidates"` // in descending order of probability
}

// Candidate is a predicted token for a mask.
type Candidate struct {
	Token       int32   `json:"token"`
	Text        *string `json:"text,omitempty"`
	Probability float32 `json:"probability"`
}

// NewFilling returns the reply for a request with masks, with up to the given number of most probable
// tokens per mask. The padding token is not a candidate. tokenizer may be nil. For logits that are not
// finite, the error is a [*Failure].
func NewFilling(c *sft.Config, tokenizer tokenizers.Tokenizer, r *Request, logits [][]float32,
	candidates int) (Filling, error) {
	decode := func(tokens ...int32) *string {
		if tokenizer == nil {
			return nil
		}
		return new(tokenizer.Decode(tokens))
	}
	f := Filling{ID: r.ID, Tokens: slices.Clone(r.Sequences[0]), Masks: []FilledMask{}, Sizes: newSizes(c, r)}
	for i, token := range f.Tokens {
		if token != *c.MaskTokenID {
			continue
		}
		x := logits[len(f.Masks)]
		if !isFinite(x) {
			return Filling{}, errNonFinite()
		}
		m := FilledMask{Position: i}
		if pad := c.PadTokenID; pad != nil {
			x = slices.Clone(x)
			x[*pad] = float32(math.Inf(-1))
		}
		p := sft.Probabilities(x)
		for _, v := range mostProbable(p, candidates) {
			if pad := c.PadTokenID; pad != nil && v == *pad {
				continue
			}
			m.Tokens = append(m.Tokens, Candidate{Token: v, Text: decode(v), Probability: p[v]})
		}
		f.Tokens[i] = m.Tokens[0].Token
		f.Masks = append(f.Masks, m)
	}
	f.Text = decode(f.Tokens...)
	return f, nil
}

// mostProbable returns the n most probable tokens in descending order of probability. Among equally
// probable tokens, the smaller id comes first.
func mostProbable(p []float32, n int) []int32 {
	order := make([]int32, len(p))
	for v := range order {
		order[v] = int32(v)
	}
	slices.SortStableFunc(order, func(a, b int32) int {
		switch {
		case p[a] > p[b]:
			return -1
		case p[a] < p[b]:
			return 1
		}
		return 0
	})
	return order[:min(n, len(order))]
}
