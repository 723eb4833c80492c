package requests

import (
	"encoding/json"
	"unicode/utf8"

	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/tokenizers"
)

// Spans is the reply to a line whose tokens are tagged.
type Spans struct {
	ID    json.RawMessage `json:"id,omitempty"`
	Spans []sft.Span      `json:"spans"`
	Unit  string          `json:"unit"` // of their places: [Characters] or [Tokens]
	Sizes
}

// What the places of spans count: the characters of a text, where it is known at which its
// tokens stand, otherwise tokens.
const (
	Characters = "characters"
	Tokens     = "tokens"
)

// located is a text and what has made tokens of it.
type located struct {
	tokenizer tokenizers.Tokenizer
	text      string
}

// Locate keeps the text of a request's one sequence, so that spans have places in it.
func (p *Parser) Locate(r *Request, text string) {
	if p.Config.Tags() && p.noTokenizer == nil && tokenizers.HasOffsets(p.tokenizer) == nil {
		r.located = &located{p.tokenizer, text}
	}
}

// Text is the text that is kept of a request, "" if there is none.
func (r *Request) Text() string {
	if r.located == nil {
		return ""
	}
	return r.located.text
}

// NewSpans says what spans a model found in a request. Output that JSON cannot hold is a
// [*Failure].
func NewSpans(c *sft.Config, r *Request, o sft.Output) (Spans, error) {
	if !finite(o.Logits) {
		return Spans{}, errNonFinite()
	}
	s := Spans{ID: r.ID, Spans: c.Spans(o.Logits), Unit: Tokens, Sizes: newSizes(c, r)}
	if s.Spans == nil {
		s.Spans = []sft.Span{} // a list in JSON
	}
	if r.located == nil {
		return s, nil
	}
	offsets, err := tokenizers.Offsets(r.located.tokenizer, r.located.text)
	if err != nil || len(offsets) != r.Lengths[0] {
		return Spans{}, Fail(CodeInternal, "the places of %d tokens are not known: %v", r.Lengths[0], err)
	}
	s.Unit = Characters
	text := r.located.text
	place := tokenizers.NewCharacters(text)
	for i := range s.Spans {
		x := &s.Spans[i]
		from, to := offsets[x.Start].Start, offsets[x.End-1].End
		for from > 0 && !utf8.RuneStart(text[from]) { // a token may begin within a character
			from--
		}
		x.Start = place.Before(from)
		x.End = place.Before(to)
	}
	return s, nil
}
