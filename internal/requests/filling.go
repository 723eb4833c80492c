package requests

import (
	"encoding/json"
	"math"
	"slices"

	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/tokenizers"
)

// Filling is the reply to a line whose masks are filled.
type Filling struct {
	ID     json.RawMessage `json:"id,omitempty"`
	Text   *string         `json:"text,omitempty"` // text of the filled tokens, if the model has a tokenizer
	Tokens []int32         `json:"tokens"`         // with the most probable one in place of each mask
	Masks  []FilledMask    `json:"masks"`
	Sizes
}

// FilledMask is what a model makes of one mask.
type FilledMask struct {
	Position int         `json:"position"`
	Tokens   []Candidate `json:"candidates"` // the most probable first
}

// Candidate is a token that may stand for a mask.
type Candidate struct {
	Token       int32   `json:"token"`
	Text        *string `json:"text,omitempty"`
	Probability float32 `json:"probability"`
}

// NewFilling says what a model made of the masks of a request, with the given number of the
// most probable tokens for each, of which the padding is none. The tokenizer is nil where there is none. Output that
// JSON cannot hold is a [*Failure].
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
		if !finite(x) {
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

// mostProbable are the n tokens of the largest probabilities, the first of equals first.
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
