package requests

import (
	"unicode/utf16"
	"unicode/utf8"

	"github.com/sftseq/sftseq/sft/config"
	"github.com/sftseq/sftseq/tokenizers"
)

// Spans answers a request with spans.
type Spans struct {
	Spans []config.Span `json:"spans"`
	Unit  string        `json:"unit"` // unit of their places, such as [Characters]
}

// What the places of spans count: the characters of a text, where it is known at which its
// tokens stand, otherwise tokens.
const (
	Characters = "characters"
	Tokens     = "tokens"
	UTF8       = "utf-8"  // bytes of the text, for a client that has negotiated this unit
	UTF16      = "utf-16" // code units
)

// Locate notes where the tokens that a request's one sequence begins with stand in its text, so
// that spans have places in it: of as many as the model reads. The text is not kept.
func (p *Parser) Locate(r *Request, text string, used int) { p.LocateIn(r, text, used, Characters) }

// LocateIn is Locate for places that count a unit: [Characters], [UTF8] or [UTF16].
func (p *Parser) LocateIn(r *Request, text string, used int, unit string) {
	if p.Places && p.noTokenizer == nil && tokenizers.HasOffsets(p.tokenizer) == nil {
		r.places, r.unit = counted(text, offsets(p.tokenizer, text, used), unit), unit
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

// counted returns places in a unit that are given in bytes of a text. They have whole characters: those with at least
// a byte there.
func counted(text string, places []tokenizers.Offset, unit string) []tokenizers.Offset {
	at, n, last := 0, 0, 0 // bytes and units that were counted, and the units of the last character
	before := func(end int) int {
		for at < end && at < len(text) {
			r, size := utf8.DecodeRuneInString(text[at:])
			last = Width(r, size, unit)
			at, n = at+size, n+last
		}
		return n
	}
	for i, x := range places {
		start := before(x.Start)
		if characterAt(text, x.Start) < x.Start {
			start -= last // it begins within that character
		}
		places[i] = tokenizers.Offset{Start: start, End: before(x.End)}
	}
	return places
}

// Width returns the length of a character, of which the text has some bytes, in a unit.
func Width(r rune, bytes int, unit string) int {
	switch unit {
	case UTF8:
		return bytes
	case UTF16:
		return utf16.RuneLen(r)
	}
	return 1
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
func NewSpans(spans []config.Span, r *Request) (Spans, error) {
	s := Spans{Spans: spans, Unit: Tokens}
	if r.places != nil {
		if len(r.places) != r.Tokens() {
			return Spans{}, Fail(CodeInternal, "the places of %d tokens are not known", r.Tokens())
		}
		s.Unit, s.Spans = r.unit, placed(s.Spans, r.places)
	}
	if s.Spans == nil {
		s.Spans = []config.Span{} // a list in JSON
	}
	return s, nil
}

// placed gives spans of tokens the places of these. One that begins within the character
// in which another ends leaves it to that one, and is left out if it has no other.
func placed(spans []config.Span, places []tokenizers.Offset) []config.Span {
	out, end := spans[:0], 0
	for _, x := range spans {
		x.Start, x.End = max(end, places[x.Start].Start), places[x.End-1].End
		if x.Start < x.End {
			out, end = append(out, x), x.End
		}
	}
	return out
}
