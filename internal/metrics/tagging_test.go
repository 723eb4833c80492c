package metrics

import (
	"fmt"
	"math"
	"testing"
)

// TestTagSpans compares spans with results derived by hand: BIO spans as in conlleval, and runs of one
// tag for other tags.
func TestTagSpans(t *testing.T) {
	bio := []string{"O", "B-PER", "I-PER", "B-LOC", "I-LOC"}
	for _, c := range []struct {
		names []string
		tags  []int32
		want  string
	}{
		{bio, []int32{0, 0}, "[]"},
		{bio, []int32{1, 2, 0, 3}, "[{0 2 PER} {3 4 LOC}]"},
		{bio, []int32{1, 1, 2, 2}, "[{0 1 PER} {1 4 PER}]"},              // B- begins another span
		{bio, []int32{2, 2, 0, 4}, "[{0 2 PER} {3 4 LOC}]"},              // I- without B- begins a span
		{bio, []int32{1, 4, 4, 2, 2}, "[{0 1 PER} {1 3 LOC} {3 5 PER}]"}, // a different type begins a span
		{[]string{"exon", "O", "intron"}, []int32{0, 0, 2, 1, 2, 2}, "[{0 2 exon} {2 3 intron} {4 6 intron}]"},
		{[]string{"B-X", "noun"}, []int32{0, 0, 1}, "[{0 2 B-X} {2 3 noun}]"}, // not all are BIO
		{nil, []int32{1, 1, 0}, "[{0 2 1} {2 3 0}]"},
	} {
		tags := NewTags(c.names, max(2, len(c.names)))
		if got := fmt.Sprint(tags.Spans(c.tags)); got != c.want {
			t.Errorf("%v: got %s, want %s", c.tags, got, c.want)
		}
	}
	// Unlabelled tokens are removed before spans are formed, but positions count them.
	labels := []int32{-1, 1, -1, 2, 0, 3, -1, 1}
	if got, want := fmt.Sprint(NewTags(bio, 5).SpansAmong(labels, labels)),
		"[{1 4 PER} {5 6 LOC} {7 8 PER}]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got, want := fmt.Sprint(NewTags(bio, 5).SpansAmong(labels, []int32{3, 0, 3, 3, 4, 0, 3, 0})),
		"[{3 5 LOC}]"; got != want {
		t.Errorf("predictions: got %s, want %s", got, want)
	}
	if !NewTags(bio, 5).BIO() || NewTags([]string{"O"}, 1).BIO() || NewTags([]string{"O", "noun"}, 2).BIO() {
		t.Error("BIO: want true for BIO tags, false for O alone and for other tags")
	}
}

// TestTagging compares scores with values computed by hand.
func TestTagging(t *testing.T) {
	names := []string{"O", "B-PER", "I-PER", "B-LOC"}
	x := NewTagging(names, 4)
	// PER [0, 2) is found, LOC [3, 4) is missed, and PER [4, 5) is a false positive.
	x.Add([]int32{1, 2, 0, 3, 0}, []int32{1, 2, 0, 0, 1})
	// The unlabelled token is removed: PER [0, 3) is found although this token is predicted as O.
	x.Add([]int32{1, -1, 2}, []int32{1, 0, 2})
	// PER [0, 1) matches PER [0, 2) at IoU ≥ 0.5, but not exactly.
	x.Add([]int32{1, 2}, []int32{1, 0})
	if x.Tokens() != 9 || math.Abs(x.Accuracy()-6.0/9) > 1e-15 {
		t.Errorf("got %d tokens and accuracy %v, want 9 and 6/9", x.Tokens(), x.Accuracy())
	}
	// The F1 of O is 2·1/(2+3), of B-PER 2·3/(3+4), of I-PER 2·2/(3+2), of B-LOC 0.
	if want := (2.0/5 + 6.0/7 + 4.0/5 + 0) / 4; math.Abs(x.MacroF1()-want) > 1e-15 {
		t.Errorf("got macro F1 %v, want %v", x.MacroF1(), want)
	}
	if got, want := fmt.Sprint(x.Spans()), fmt.Sprint([]SpanScore{
		{"LOC", F1Score{}, 1, 0, F1Score{}, F1Score{}},
		{"PER", F1Score{0.5, 2.0 / 3, 4.0 / 7}, 3, 4, F1Score{0.75, 1, 6.0 / 7},
			F1Score{5.0 / 6, 5.0 / 6, 5.0 / 6}}}); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if all := x.AllSpans(); all != (SpanScore{"", F1Score{0.5, 0.5, 0.5}, 4, 4, F1Score{0.75, 0.75, 0.75},
		F1Score{5.0 / 6, 5.0 / 7, 10.0 / 13}}) || x.SpanF1() != 0.5 {
		t.Errorf("all types: got %+v, want F1 0.5 over 4 spans", all)
	}
	if tags := x.Tags(names); len(tags) != 4 || tags[3] != (TagScore{3, "B-LOC", 0, 1}) ||
		tags[1] != (TagScore{1, "B-PER", 6.0 / 7, 3}) {
		t.Errorf("got tag scores %+v, want 4 tags, F1 6/7 for B-PER and 0 for B-LOC", tags)
	}
	if empty := NewTagging(names, 4); empty.SpanF1() != 0 {
		t.Error("got a span F1 above 0 without spans")
	}
}
