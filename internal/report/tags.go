package report

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/sftseq/sftseq/internal/metrics"
	"github.com/sftseq/sftseq/tokenizers"
)

// Tags has the results of a run's tagging model on rows with token labels.
type Tags struct {
	Data     string // file and split of the rows
	Note     string // note for the reader, or ""
	Rows     int
	Tokens   int64     // number of labelled tokens
	CutTags  int64     // number of labels beyond the input window
	Loss     float64   // mean over labelled tokens
	Lines    []TagLine // scores of the model, then of the baselines
	Spans    metrics.SpanScore
	ByType   []metrics.SpanScore
	Examples []TagExample
}

// TagLine has the scores of the model or of a baseline.
type TagLine struct {
	Of                        string // the model or the baseline
	Accuracy, MacroF1, SpanF1 float64
}

// TagExample is a row with its labelled and predicted spans.
type TagExample struct {
	Row                 uint32
	ID                  string // identifier of the row, or ""
	Tokens              []int32
	Labels, Predictions []metrics.Span
}

// tagsView is the tagging part of a page.
type tagsView struct {
	*Tags
	Types  []metrics.SpanScore // all spans, then each type, or the types with the most spans
	Hidden int                 // number of types that are not shown
	Rows   []tagExampleView
}

// tagExampleView is a row as text, once with its labelled and once with its predicted spans.
type tagExampleView struct {
	Row                             uint32
	ID                              string
	Length, Found, Missed, Invented int
	Labels, Predictions             []segment
	Part                            bool // the text is an excerpt
}

// segment is a part of a text: a span, or the text between two spans.
type segment struct {
	Space  bool // a space precedes the segment
	Pieces []piece
	Span   *spanMark // nil between spans
}

// spanMark describes how a span is shown.
type spanMark struct {
	Type, Title, Class string
	Outcome            string // outcome in a word, for readers who cannot distinguish the colours
}

// maxSpans is the maximum number of distinct spans, labelled or predicted, around which a long row is shown.
const maxSpans = 12

func newTagsView(r Run) *tagsView {
	v := &tagsView{Tags: r.Tags}
	types := slices.Clone(r.Tags.ByType)
	if v.Hidden = max(0, len(types)-maxClasses); v.Hidden > 0 {
		slices.SortStableFunc(types, func(a, b metrics.SpanScore) int { return cmp.Compare(b.Spans, a.Spans) })
		types = types[:maxClasses]
	}
	all := r.Tags.Spans
	all.Type = "all spans"
	v.Types = append([]metrics.SpanScore{all}, types...)
	for i := range r.Tags.Examples {
		v.Rows = append(v.Rows, newTagExampleView(r.decoder(), &r.Tags.Examples[i]))
	}
	return v
}

func newTagExampleView(t tokenizers.Tokenizer, e *TagExample) tagExampleView {
	v := tagExampleView{Row: e.Row, ID: e.ID, Length: len(e.Tokens)}
	shown := shownSpans(len(e.Tokens), e.Labels, e.Predictions)
	labels, predictions := metrics.SpanSet(e.Labels), metrics.SpanSet(e.Predictions)
	for _, s := range e.Labels {
		if predictions[s] {
			v.Found++
		}
	}
	v.Missed, v.Invented, v.Part = len(e.Labels)-v.Found, len(e.Predictions)-v.Found, slices.Contains(shown, false)
	v.Labels = segments(t, e.Tokens, shown, e.Labels, predictions, "found", "missed")
	v.Predictions = segments(t, e.Tokens, shown, e.Predictions, labels, "right", "wrong")
	return v
}

// shownSpans marks the tokens to show: all, or in a long row the tokens near the start or the end of
// one of its first spans.
func shownSpans(n int, labels, predictions []metrics.Span) []bool {
	shown := make([]bool, n)
	near := func(at int) {
		for i := max(0, at-contextTokens); i < min(n, at+contextTokens); i++ {
			shown[i] = true
		}
	}
	if n <= maxPieces {
		for i := range shown {
			shown[i] = true
		}
		return shown
	}
	spans := slices.Concat(labels, predictions)
	slices.SortFunc(spans, func(a, b metrics.Span) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.End, b.End), cmp.Compare(a.Type, b.Type))
	})
	spans = slices.Compact(spans) // a correct prediction occurs in both lists
	for _, s := range spans[:min(len(spans), maxSpans)] {
		near(s.Start)
		near(s.End)
	}
	return shown
}

// segments splits a text at its spans. The parameter matched is the outcome shown for a span that is also
// in the map others, and unmatched is the outcome for all other spans.
func segments(t tokenizers.Tokenizer, tokens []int32, shown []bool, spans []metrics.Span, others map[metrics.Span]bool,
	matched, unmatched string) (out []segment) {
	separate := len(tokens) > 1 && t.Decode(tokens[:2]) != t.Decode(tokens[:1])+t.Decode(tokens[1:2])
	add := func(from, to int, mark *spanMark) {
		s := segment{Space: separate && from > 0, Span: mark}
		for i := from; i < to; {
			end := i
			for end < to && shown[end] == shown[i] {
				end++
			}
			if shown[i] {
				s.Pieces = append(s.Pieces, piece{Text: replaceControls(t.Decode(tokens[i:end]))})
			} else {
				s.Pieces = append(s.Pieces, piece{LeftOut: end - i})
			}
			i = end
		}
		if mark != nil && !slices.Contains(shown[from:to], true) {
			s.Span = nil // omitted as a whole
		}
		if last := len(out) - 1; s.Span == nil && last >= 0 && out[last].Span == nil {
			out[last].Pieces = joinLeftOut(out[last].Pieces, s.Pieces)
		} else if to > from {
			out = append(out, s)
		}
	}
	at := 0
	for _, span := range spans {
		mark := &spanMark{Type: span.Type, Outcome: unmatched, Class: "no-span",
			Title: fmt.Sprintf("%s, tokens %d to %d",
				span.Type, span.Start, span.End-1)}
		if others[span] {
			mark.Outcome, mark.Class = matched, "yes-span"
		}
		add(at, span.Start, nil)
		add(span.Start, span.End, mark)
		at = span.End
	}
	add(at, len(tokens), nil)
	return out
}

// joinLeftOut appends b to a. Adjacent omissions become one piece.
func joinLeftOut(a, b []piece) []piece {
	if len(a) > 0 && len(b) > 0 && a[len(a)-1].LeftOut > 0 && b[0].LeftOut > 0 {
		a[len(a)-1].LeftOut += b[0].LeftOut
		b = b[1:]
	}
	return append(a, b...)
}
