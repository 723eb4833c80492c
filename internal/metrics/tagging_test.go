package metrics

import (
	"fmt"
	"math"
	"testing"
)

// TestTagSpans: spans are those that conlleval finds in the same tags, worked out by hand.
func TestTagSpans(t *testing.T) {
	bio := []string{"O", "B-PER", "I-PER", "B-LOC", "I-LOC"}
	for _, c := range []struct {
		names []string
		tags  []int32
		want  string
	}{
		{bio, []int32{0, 0}, "[]"},
		{bio, []int32{1, 2, 0, 3}, "[{0 2 PER} {3 4 LOC}]"},
		{bio, []int32{1, 1, 2, 2}, "[{0 1 PER} {1 4 PER}]"},              // B- begins another one
		{bio, []int32{2, 2, 0, 4}, "[{0 2 PER} {3 4 LOC}]"},              // I- without B- begins one
		{bio, []int32{1, 4, 4, 2, 2}, "[{0 1 PER} {1 3 LOC} {3 5 PER}]"}, // another type begins one
		{[]string{"exon", "O", "intron"}, []int32{0, 0, 2, 1, 2, 2}, "[{0 2 exon} {2 3 intron} {4 6 intron}]"},
		{[]string{"B-X", "noun"}, []int32{0, 0, 1}, "[{0 2 B-X} {2 3 noun}]"}, // not all are BIO
		{nil, []int32{1, 1, 0}, "[{0 2 1} {2 3 0}]"},
	} {
		tags := NewTags(c.names, max(2, len(c.names)))
		if got := fmt.Sprint(tags.Spans(c.tags)); got != c.want {
			t.Errorf("%v: %s, want %s", c.tags, got, c.want)
		}
	}
	// Tokens without a label are no part of the order, but of the places.
	labels := []int32{-1, 1, -1, 2, 0, 3, -1, 1}
	if got, want := fmt.Sprint(NewTags(bio, 5).SpansAmong(labels, labels)),
		"[{1 4 PER} {5 6 LOC} {7 8 PER}]"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got, want := fmt.Sprint(NewTags(bio, 5).SpansAmong(labels, []int32{3, 0, 3, 3, 4, 0, 3, 0})),
		"[{3 5 LOC}]"; got != want {
		t.Errorf("of answers: %s, want %s", got, want)
	}
	if !NewTags(bio, 5).BIO() || NewTags([]string{"O"}, 1).BIO() || NewTags([]string{"O", "noun"}, 2).BIO() {
		t.Error("BIO")
	}
}

// TestTagging: figures are those that were worked out by hand.
func TestTagging(t *testing.T) {
	names := []string{"O", "B-PER", "I-PER", "B-LOC"}
	x := NewTagging(names, 4)
	// PER 0–2 found, LOC 3–4 missed; PER 4–5 of the answers is wrong.
	x.Add([]int32{1, 2, 0, 3, 0}, []int32{1, 2, 0, 0, 1})
	// A token without a label is left out of both: PER 0–2 found although it has three tokens.
	x.Add([]int32{1, -1, 2}, []int32{1, 0, 2})
	// A span of another length is another span.
	x.Add([]int32{1, 2}, []int32{1, 0})
	if x.Tokens() != 9 || math.Abs(x.Accuracy()-6.0/9) > 1e-15 {
		t.Errorf("%d tokens, accuracy %v", x.Tokens(), x.Accuracy())
	}
	// F1 of O 2·1/(2+3), B-PER 2·3/(3+4), I-PER 2·2/(3+2), B-LOC 0.
	if want := (2.0/5 + 6.0/7 + 4.0/5 + 0) / 4; math.Abs(x.MacroF1()-want) > 1e-15 {
		t.Errorf("macro F1 %v, want %v", x.MacroF1(), want)
	}
	if got, want := fmt.Sprint(x.Spans()), fmt.Sprint([]SpanScore{
		{"LOC", F1Score{}, 1, 0, F1Score{}, F1Score{}},
		{"PER", F1Score{0.5, 2.0 / 3, 4.0 / 7}, 3, 4, F1Score{0.75, 1, 6.0 / 7},
			F1Score{5.0 / 6, 5.0 / 6, 5.0 / 6}}}); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if all := x.AllSpans(); all != (SpanScore{"", F1Score{0.5, 0.5, 0.5}, 4, 4, F1Score{0.75, 0.75, 0.75},
		F1Score{5.0 / 6, 5.0 / 7, 10.0 / 13}}) || x.SpanF1() != 0.5 {
		t.Errorf("all: %+v", all)
	}
	if tags := x.Tags(names); len(tags) != 4 || tags[3] != (TagScore{3, "B-LOC", 0, 1}) ||
		tags[1] != (TagScore{1, "B-PER", 6.0 / 7, 3}) {
		t.Errorf("%+v", tags)
	}
	if empty := NewTagging(names, 4); empty.SpanF1() != 0 {
		t.Error("no spans at all")
	}
}
