package metrics

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Tags are the labels that tokens can have, and how they make spans.
//
// If each tag but O begins with B- or I-, they are BIO: a span of type X begins at B-X, or at
// I-X that follows neither B-X nor I-X, and ends before the next tag that is not I-X. Otherwise
// a span is a longest run of one tag, its type. O is never part of a span.
//
// Source: Ramshaw and Marcus, "Text Chunking using Transformation-Based Learning", WVLC 1995;
// read as conlleval does (Tjong Kim Sang and Buchholz, CoNLL-2000) and seqeval by default.
type Tags struct {
	kind []tagKind // one for each tag
	bio  bool
}

type tagKind struct {
	outside, begins bool
	of              string // the type
}

// outside is the tag of a token that is part of no span.
const outside = "O"

// NewTags takes the names of n tags; tags without names are called by their numbers.
func NewTags(names []string, n int) *Tags {
	t := &Tags{kind: make([]tagKind, n)}
	prefixed := 0
	for i := range t.kind {
		name := strconv.Itoa(i)
		if i < len(names) {
			name = names[i]
		}
		t.kind[i] = tagKind{outside: name == outside, of: name}
		if name == outside || strings.HasPrefix(name, "B-") || strings.HasPrefix(name, "I-") {
			prefixed++
		}
	}
	t.bio = prefixed == n && slices.ContainsFunc(t.kind, func(k tagKind) bool { return !k.outside })
	if !t.bio {
		return t
	}
	for i := range t.kind {
		if k := &t.kind[i]; !k.outside {
			k.begins, k.of = k.of[0] == 'B', k.of[2:]
		}
	}
	return t
}

// BIO reports whether B- and I- say where spans begin.
func (t *Tags) BIO() bool { return t.bio }

// Span is a run of tokens, from Start to before End.
type Span struct {
	Start, End int
	Type       string
}

// SpanSet has what asks for spans one by one.
func SpanSet(spans []Span) map[Span]bool {
	set := make(map[Span]bool, len(spans))
	for _, s := range spans {
		set[s] = true
	}
	return set
}

// Spans are those of a sequence of tags, in their order.
func (t *Tags) Spans(tags []int32) (out []Span) {
	open := false
	for i, tag := range tags {
		k := t.kind[tag]
		if open && !k.outside && !k.begins && k.of == out[len(out)-1].Type {
			out[len(out)-1].End++
			continue
		}
		if open = !k.outside; open {
			out = append(out, Span{i, i + 1, k.of})
		}
	}
	return out
}

// SpansAmong are the spans of the tokens that have a label, not negative, as if there were no
// others between them.
func (t *Tags) SpansAmong(labels, tags []int32) []Span {
	var among []int32
	var at []int
	for i, label := range labels {
		if label >= 0 {
			among, at = append(among, tags[i]), append(at, i)
		}
	}
	out := t.Spans(among)
	for i, s := range out {
		out[i].Start, out[i].End = at[s.Start], at[s.End-1]+1
	}
	return out
}

// Tagging measures the tags of sequences. Tokens without a label are left out, of the answers as
// of the labels, before spans are made: what is one word in several tokens may have the label at
// the first alone.
type Tagging struct {
	tags                  *Tags
	hits, labels, answers []int64 // by tag
	spans                 map[string]*spanCounts
}

type spanCounts struct {
	both, overlap, labels, answers        int64 // spans; overlap are those at IoU ≥ 0.5
	tokensBoth, tokenLabels, tokenAnswers int64
}

// NewTagging begins to measure n tags.
func NewTagging(names []string, n int) *Tagging {
	return &Tagging{tags: NewTags(names, n), hits: make([]int64, n), labels: make([]int64, n),
		answers: make([]int64, n), spans: map[string]*spanCounts{}}
}

// Add counts a sequence: the label of each token, negative where it has none, and what a model
// answers.
func (t *Tagging) Add(labels, answers []int32) {
	for i, label := range labels {
		if label < 0 {
			continue
		}
		t.labels[label]++
		t.answers[answers[i]]++
		if label == answers[i] {
			t.hits[label]++
		}
	}
	want, got := t.tags.SpansAmong(labels, labels), t.tags.SpansAmong(labels, answers)
	for _, s := range want {
		t.of(s.Type).labels++
	}
	for _, s := range got {
		t.of(s.Type).answers++
	}
	eachMatch(want, got, func(label, answer Span) {
		c := t.of(label.Type)
		if c.overlap++; label == answer {
			c.both++
		}
	})
	t.addTokens(labels, answers)
}

// addTokens counts the tokens within spans of each type.
func (t *Tagging) addTokens(labels, answers []int32) {
	for i, label := range labels {
		if label < 0 {
			continue
		}
		a, b := t.tags.kind[label], t.tags.kind[answers[i]]
		if !a.outside {
			t.of(a.of).tokenLabels++
		}
		if !b.outside {
			t.of(b.of).tokenAnswers++
		}
		if !a.outside && !b.outside && a.of == b.of {
			t.of(a.of).tokensBoth++
		}
	}
}

// eachMatch calls found with each pair of spans of one type whose intersection is at least half of their
// union (IoU ≥ 0.5), in their order, each span in one pair at most. Spans of a list do not overlap, and
// are sorted.
func eachMatch(labels, answers []Span, found func(label, answer Span)) {
	at := 0
	for _, l := range labels {
		for at < len(answers) && answers[at].End <= l.Start {
			at++
		}
		for i := at; i < len(answers) && answers[i].Start < l.End; i++ {
			a := answers[i]
			both := min(a.End, l.End) - max(a.Start, l.Start)
			if a.Type == l.Type && 2*both >= max(a.End, l.End)-min(a.Start, l.Start) {
				found(l, a)
				at = i + 1
				break
			}
		}
	}
}

func (t *Tagging) of(kind string) *spanCounts {
	if t.spans[kind] == nil {
		t.spans[kind] = &spanCounts{}
	}
	return t.spans[kind]
}

// Tokens is how many had a label.
func (t *Tagging) Tokens() (n int64) {
	for _, labels := range t.labels {
		n += labels
	}
	return n
}

// Accuracy is the fraction of tokens that are answered right.
func (t *Tagging) Accuracy() float64 { return t.validation().Accuracy() }

// MacroF1 is the mean F1 of the tags that occur, as label or as answer.
func (t *Tagging) MacroF1() float64 { return t.validation().MacroF1() }

func (t *Tagging) validation() *Validation {
	return &Validation{hits: t.hits, labels: t.labels, answers: t.answers}
}

// SpanScore is how well spans of a type are found. One counts as found if start, end and type
// are right.
type SpanScore struct {
	Type string `json:"type"`
	F1Score
	Spans   int64   `json:"spans"` // spans of the labels
	Answers int64   `json:"answers"`
	Overlap F1Score `json:"iou_50"` // where a span of the type counts as found if IoU ≥ 0.5
	Tokens  F1Score `json:"tokens"` // F1 of the tokens within spans of the type
}

// F1Score is how many answers are right and how many labels are found.
type F1Score struct {
	Precision float64 `json:"precision"` // right answers / answers
	Recall    float64 `json:"recall"`    // right answers / labels
	F1        float64 `json:"f1"`        // harmonic mean, 2·right / (labels + answers)
}

func f1Score(right, labels, answers int64) F1Score {
	ratio := func(n, of int64) float64 { return float64(n) / float64(max(1, of)) }
	return F1Score{ratio(right, answers), ratio(right, labels), ratio(2*right, labels+answers)}
}

func (c spanCounts) score(kind string) SpanScore {
	return SpanScore{kind, f1Score(c.both, c.labels, c.answers), c.labels, c.answers,
		f1Score(c.overlap, c.labels, c.answers), f1Score(c.tokensBoth, c.tokenLabels, c.tokenAnswers)}
}

// Spans scores the spans of each type that occurs, by name.
func (t *Tagging) Spans() (out []SpanScore) {
	for _, kind := range slices.Sorted(maps.Keys(t.spans)) {
		out = append(out, t.spans[kind].score(kind))
	}
	return out
}

// AllSpans scores the spans of all types together: the micro average.
func (t *Tagging) AllSpans() SpanScore {
	var sum spanCounts
	for _, c := range t.spans {
		sum.both, sum.overlap = sum.both+c.both, sum.overlap+c.overlap
		sum.labels, sum.answers = sum.labels+c.labels, sum.answers+c.answers
		sum.tokensBoth, sum.tokenLabels, sum.tokenAnswers = sum.tokensBoth+c.tokensBoth, sum.tokenLabels+c.tokenLabels,
			sum.tokenAnswers+c.tokenAnswers
	}
	return sum.score("")
}

// SpanF1 is the F1 of all spans, 0 where there are none.
func (t *Tagging) SpanF1() float64 { return t.AllSpans().F1 }

// TagScore has the scores of a tag.
type TagScore struct {
	Tag    int     `json:"-"`
	Name   string  `json:"tag"`
	F1     float64 `json:"f1"`
	Tokens int64   `json:"tokens"` // tokens with this label
}

// Tags scores each tag that occurs.
func (t *Tagging) Tags(names []string) (out []TagScore) {
	for i, hits := range t.hits {
		if n := t.labels[i] + t.answers[i]; n > 0 {
			name := strconv.Itoa(i)
			if i < len(names) {
				name = cmp.Or(names[i], name)
			}
			out = append(out, TagScore{i, name, 2 * float64(hits) / float64(n), t.labels[i]})
		}
	}
	return out
}
