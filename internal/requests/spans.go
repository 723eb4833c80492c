package requests

import (
	"unicode/utf8"

	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/tokenizers"
)

// Spans answers a request with spans.
type Spans struct {
	Spans []sft.Span `json:"spans"`
	Unit  string     `json:"unit"` // of their places: [Characters] or [Tokens]
}

// What the places of spans count: the characters of a text, where it is known at which its
// tokens stand, otherwise tokens.
const (
	Characters = "characters"
	Tokens     = "tokens"
)

// Locate notes where the tokens that a request's one sequence begins with stand in its text, so
// that spans have places in it: of as many as the model reads. The text is not kept.
func (p *Parser) Locate(r *Request, text string, used int) {
	if p.Places && p.noTokenizer == nil && tokenizers.HasOffsets(p.tokenizer) == nil {
		r.places = characters(text, offsets(p.tokenizer, text, used))
	}
}

// PlaceBytes is what [Parser.Locate] keeps of a token.
const PlaceBytes = 16

// chunkBytes is how much text has its offsets found at a time.
const chunkBytes = 1 << 12

// offsets are the places of the first n tokens of a text, or of all if there are fewer. It looks
// at a chunk after the other, as those of the whole text may take many times its memory.
func offsets(t tokenizers.Tokenizer, text string, n int) []tokenizers.Offset {
	out := make([]tokenizers.Offset, 0, n)
	cut := false // the last token may go on in the next chunk, which begins with its end
	for at := 0; at < len(text) && (len(out) < n || cut); {
		end := len(text)
		if end-at > chunkBytes {
			end = characterAt(text, at+chunkBytes)
		}
		found, err := tokenizers.Offsets(t, text[at:end])
		if err != nil {
			return out // too few, as NewSpans will see
		}
		for i, x := range found {
			x.Start, x.End = x.Start+at, x.End+at
			switch {
			case i == 0 && cut:
				out[len(out)-1].End = x.End
			case len(out) == n:
				return out
			default:
				out = append(out, x)
			}
		}
		cut, at = false, end
		if len(found) > 0 && end < len(text) && out[len(out)-1].End == end {
			cut, at = true, max(out[len(out)-1].Start, characterAt(text, end-1))
		}
	}
	return out
}

// characters are places that are given in bytes of a text, in characters of it: of those that
// have at least a byte there.
func characters(text string, places []tokenizers.Offset) []tokenizers.Offset {
	before := tokenizers.NewCharacters(text)
	for i, x := range places {
		n := before.Before(x.Start)
		if characterAt(text, x.Start) < x.Start {
			n-- // the one within which it begins
		}
		places[i] = tokenizers.Offset{Start: n, End: before.Before(x.End)}
	}
	return places
}

// characterAt is where the character begins that a byte is part of. A byte that is not UTF-8
// is a character of its own.
func characterAt(text string, at int) int {
	for from := at - 1; from >= 0 && from > at-utf8.UTFMax; from-- {
		if utf8.RuneStart(text[from]) {
			if _, size := utf8.DecodeRuneInString(text[from:]); from+size > at {
				return from
			}
			break
		}
	}
	return at
}

// NewSpans gives spans of tokens the places that a request has noted.
func NewSpans(spans []sft.Span, r *Request) (Spans, error) {
	s := Spans{Spans: spans, Unit: Tokens}
	if r.places != nil {
		if len(r.places) != r.Tokens() {
			return Spans{}, Fail(CodeInternal, "the places of %d tokens are not known", r.Tokens())
		}
		s.Unit, s.Spans = Characters, inCharacters(s.Spans, r.places)
	}
	if s.Spans == nil {
		s.Spans = []sft.Span{} // a list in JSON
	}
	return s, nil
}

// inCharacters gives spans of tokens the places of these. One that begins within the character
// in which another ends leaves it to that one, and is left out if it has no other.
func inCharacters(spans []sft.Span, places []tokenizers.Offset) []sft.Span {
	out, end := spans[:0], 0
	for _, x := range spans {
		x.Start, x.End = max(end, places[x.Start].Start), places[x.End-1].End
		if x.Start < x.End {
			out, end = append(out, x), x.End
		}
	}
	return out
}
