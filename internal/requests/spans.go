package requests

import (
	"unicode/utf16"
	"unicode/utf8"

	"github.com/sftseq/sftseq/sft/config"
	"github.com/sftseq/sftseq/tokenizers"
)

// Spans is the prediction of a tagging model.
type Spans struct {
	Spans []config.Span `json:"spans"`
	Unit  string        `json:"unit"` // unit of the positions, such as [Characters]
}

// Units of positions. Replies use Tokens if the text positions of the tokens are unknown. Otherwise
// lines use Characters, and a server uses the unit of the session.
const (
	Characters = "characters"
	Tokens     = "tokens"
	UTF8       = "utf-8"  // bytes of the text
	UTF16      = "utf-16" // code units
)

// RecordPositions records the text positions of the first n tokens of a request's sequence, in
// characters. It records nothing unless p.RecordOffsets is set and the tokenizer has offsets. It does not
// keep the text.
func (p *Parser) RecordPositions(r *Request, text string, n int) {
	p.RecordPositionsIn(r, text, n, Characters)
}

// RecordPositionsIn is like RecordPositions, with positions in a unit: [Characters], [UTF8] or [UTF16].
func (p *Parser) RecordPositionsIn(r *Request, text string, n int, unit string) {
	if p.RecordOffsets && p.noTokenizer == nil && tokenizers.HasOffsets(p.tokenizer) == nil {
		r.offsets, r.unit = toUnit(text, offsets(p.tokenizer, text, n), unit), unit
	}
}

// OffsetBytes is the memory that [Parser.RecordPositions] keeps per token.
const OffsetBytes = 16

// chunkBytes is the maximum size of a chunk of text in bytes. Offsets are computed chunk by chunk.
const chunkBytes = 1 << 12

// offsets returns the byte offsets of the first n tokens of a text, or of all tokens if there are
// fewer. It processes the text in chunks, because the offsets of the whole text may take many times the
// memory of the text.
func offsets(t tokenizers.Tokenizer, text string, n int) []tokenizers.Offset {
	out := make([]tokenizers.Offset, 0, n)
	// continued is true if the last token may continue in the next chunk. The next chunk then repeats
	// the token's last character.
	continued := false
	for at := 0; at < len(text) && (len(out) < n || continued); {
		end := len(text)
		if end-at > chunkBytes {
			end = characterStart(text, at+chunkBytes)
		}
		found, err := tokenizers.Offsets(t, text[at:end])
		if err != nil {
			return out // too few offsets, which NewSpans reports
		}
		for i, x := range found {
			x.Start, x.End = x.Start+at, x.End+at
			switch {
			case i == 0 && continued:
				out[len(out)-1].End = x.End
			case len(out) == n:
				return out
			default:
				out = append(out, x)
			}
		}
		continued, at = false, end
		if len(found) > 0 && end < len(text) && out[len(out)-1].End == end {
			continued, at = true, max(out[len(out)-1].Start, characterStart(text, end-1))
		}
	}
	return out
}

// toUnit converts byte offsets in a text to a unit. The results are extended to whole characters.
func toUnit(text string, offsets []tokenizers.Offset, unit string) []tokenizers.Offset {
	at, n, last := 0, 0, 0 // bytes and units counted so far, and the units of the last character
	before := func(end int) int {
		for at < end && at < len(text) {
			r, size := utf8.DecodeRuneInString(text[at:])
			last = Width(r, size, unit)
			at, n = at+size, n+last
		}
		return n
	}
	for i, x := range offsets {
		start := before(x.Start)
		if characterStart(text, x.Start) < x.Start {
			start -= last // x starts within this character
		}
		offsets[i] = tokenizers.Offset{Start: start, End: before(x.End)}
	}
	return offsets
}

// Width returns the length in a unit of the character r, which has the given number of bytes.
func Width(r rune, bytes int, unit string) int {
	switch unit {
	case UTF8:
		return bytes
	case UTF16:
		return utf16.RuneLen(r)
	}
	return 1
}

// characterStart returns the start of the character that contains the byte at an offset. A byte that
// is not UTF-8 is a character of its own.
func characterStart(text string, at int) int {
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

// NewSpans converts spans of tokens to text positions, if the request has recorded positions.
func NewSpans(spans []config.Span, r *Request) (Spans, error) {
	s := Spans{Spans: spans, Unit: Tokens}
	if r.offsets != nil {
		if len(r.offsets) != r.Tokens() {
			return Spans{}, Fail(CodeInternal, "the text positions of %d tokens are unknown", r.Tokens())
		}
		s.Unit, s.Spans = r.unit, toTextSpans(s.Spans, r.offsets)
	}
	if s.Spans == nil {
		s.Spans = []config.Span{} // encoded as a list instead of null
	}
	return s, nil
}

// toTextSpans converts spans of tokens to text positions. If a span starts within the last character of
// the previous span, the character belongs to the previous span. A span without any other character
// is dropped.
func toTextSpans(spans []config.Span, offsets []tokenizers.Offset) []config.Span {
	out, end := spans[:0], 0
	for _, x := range spans {
		x.Start, x.End = max(end, offsets[x.Start].Start), offsets[x.End-1].End
		if x.Start < x.End {
			out, end = append(out, x), x.End
		}
	}
	return out
}
