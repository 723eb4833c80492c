package metrics

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Tags is a set of tags for tokens. It defines how tags form spans.
//
// If every tag except O begins with B- or I-, the tags are BIO. A span of type X begins at B-X, or
// at an I-X that follows neither B-X nor I-X. It ends before the next tag that is not I-X. For
// other tags, a span is a maximal run of one tag, which is its type. O is never part of a span.
//
// Source: Ramshaw and Marcus, "Text Chunking using Transformation-Based Learning", WVLC 1995; spans
// are read as in conlleval (Tjong Kim Sang and Buchholz, CoNLL-2000) and seqeval by default.
type Tags struct {
	kind []tagKind // one per tag
	bio  bool
}

type tagKind struct {
	outside, begins bool
	spanType        string
}

// outside is the tag of tokens that are not part of a span.
const outside = "O"

// NewTags returns the Tags of n tags with the given names. A tag without a name is named by its
// number.
func NewTags(names []string, n int) *Tags {
	t := &Tags{kind: make([]tagKind, n)}
	prefixed := 0
	for i := range t.kind {
		name := strconv.Itoa(i)
		if i < len(names) {
			name = names[i]
		}
		t.kind[i] = tagKind{outside: name == outside, spanType: name}
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
			k.begins, k.spanType = k.spanType[0] == 'B', k.spanType[2:]
		}
	}
	return t
}

// BIO reports whether the tags are BIO tags.
func (t *Tags) BIO() bool { return t.bio }

// Span is the range of tokens [Start, End) with a type.
type Span struct {
	Start, End int
	Type       string
}

// SpanSet returns the spans as a set.
func SpanSet(spans []Span) map[Span]bool {
	set := make(map[Span]bool, len(spans))
	for _, s := range spans {
		set[s] = true
	}
	return set
}

// Spans returns the spans of a sequence of tags in ascending order.
func (t *Tags) Spans(tags []int32) (out []Span) {
	open := false
	for i, tag := range tags {
		k := t.kind[tag]
		if open && !k.outside && !k.begins && k.spanType == out[len(out)-1].Type {
			out[len(out)-1].End++
			continue
		}
		if open = !k.outside; open {
			out = append(out, Span{i, i + 1, k.spanType})
		}
	}
	return out
}

// SpansAmong returns the spans of the labelled tokens. Tokens with a negative label are removed
// before spans are formed, but positions count all tokens.
func (t *Tags) SpansAmong(labels, tags []int32) []Span {
	var labelledTags []int32
	var positions []int
	for i, label := range labels {
		if label >= 0 {
			labelledTags, positions = append(labelledTags, tags[i]), append(positions, i)
		}
	}
	out := t.Spans(labelledTags)
	for i, s := range out {
		out[i].Start, out[i].End = positions[s.Start], positions[s.End-1]+1
	}
	return out
}

// Tagging measures the predicted tags of sequences. Unlabelled tokens are removed from labels and
// predictions before spans are formed, because a word of several tokens may have its label at the
// first token only.
type Tagging struct {
	tags                      *Tags
	hits, labels, predictions []int64 // by tag
	spans                     map[string]*spanCounts
}

type spanCounts struct {
	exact, overlap, labels, predictions         int64 // numbers of spans; overlap counts matches at IoU ≥ 0.5
	tokenMatches, tokenLabels, tokenPredictions int64
}

// NewTagging returns an empty Tagging for n tags with the given names.
func NewTagging(names []string, n int) *Tagging {
	return &Tagging{tags: NewTags(names, n), hits: make([]int64, n), labels: make([]int64, n),
		predictions: make([]int64, n), spans: map[string]*spanCounts{}}
}

// Add adds a sequence: the label of each token, negative if missing, and the predicted tags.
func (t *Tagging) Add(labels, predictions []int32) {
	for i, label := range labels {
		if label < 0 {
			continue
		}
		t.labels[label]++
		t.predictions[predictions[i]]++
		if label == predictions[i] {
			t.hits[label]++
		}
	}
	want, got := t.tags.SpansAmong(labels, labels), t.tags.SpansAmong(labels, predictions)
	for _, s := range want {
		t.countsOf(s.Type).labels++
	}
	for _, s := range got {
		t.countsOf(s.Type).predictions++
	}
	forEachMatch(want, got, func(label, prediction Span) {
		c := t.countsOf(label.Type)
		if c.overlap++; label == prediction {
			c.exact++
		}
	})
	t.addTokens(labels, predictions)
}

// addTokens counts the tokens within spans by type.
func (t *Tagging) addTokens(labels, predictions []int32) {
	for i, label := range labels {
		if label < 0 {
			continue
		}
		a, b := t.tags.kind[label], t.tags.kind[predictions[i]]
		if !a.outside {
			t.countsOf(a.spanType).tokenLabels++
		}
		if !b.outside {
			t.countsOf(b.spanType).tokenPredictions++
		}
		if !a.outside && !b.outside && a.spanType == b.spanType {
			t.countsOf(a.spanType).tokenMatches++
		}
	}
}

// forEachMatch matches spans of the same type whose IoU is at least 0.5, each span with at most one
// other, and calls found with the matched pairs in ascending order. The spans of each list must be sorted
// and disjoint.
func forEachMatch(labels, predictions []Span, found func(label, prediction Span)) {
	at := 0
	for _, l := range labels {
		for at < len(predictions) && predictions[at].End <= l.Start {
			at++
		}
		for i := at; i < len(predictions) && predictions[i].Start < l.End; i++ {
			a := predictions[i]
			overlap := min(a.End, l.End) - max(a.Start, l.Start)
			if a.Type == l.Type && 2*overlap >= max(a.End, l.End)-min(a.Start, l.Start) {
				found(l, a)
				at = i + 1
				break
			}
		}
	}
}

func (t *Tagging) countsOf(kind string) *spanCounts {
	if t.spans[kind] == nil {
		t.spans[kind] = &spanCounts{}
	}
	return t.spans[kind]
}

// Tokens returns the number of labelled tokens.
func (t *Tagging) Tokens() (n int64) {
	for _, labels := range t.labels {
		n += labels
	}
	return n
}

// Accuracy returns the fraction of labelled tokens whose tag is predicted correctly.
func (t *Tagging) Accuracy() float64 { return t.validation().Accuracy() }

// MacroF1 returns the mean F1 of the tags that occur, as a label or as a prediction.
func (t *Tagging) MacroF1() float64 { return t.validation().MacroF1() }

func (t *Tagging) validation() *Validation {
	return &Validation{hits: t.hits, labels: t.labels, predictions: t.predictions}
}

// SpanScore has the span scores of a type. A predicted span is correct if start, end and type are
// correct.
type SpanScore struct {
	Type string `json:"type"`
	F1Score
	Spans     int64   `json:"spans"`     // number of true spans
	Predicted int64   `json:"predicted"` // number of predicted spans
	Overlap   F1Score `json:"iou_50"`    // scores if a predicted span of the type is correct at IoU ≥ 0.5
	Tokens    F1Score `json:"tokens"`    // scores of the tokens within spans of the type
}

// F1Score has precision, recall and F1.
type F1Score struct {
	Precision float64 `json:"precision"` // correct predictions / predictions
	Recall    float64 `json:"recall"`    // correct predictions / labels
	F1        float64 `json:"f1"`        // harmonic mean, 2·correct / (labels + predictions)
}

func f1Score(correct, labels, predictions int64) F1Score {
	ratio := func(part, whole int64) float64 { return float64(part) / float64(max(1, whole)) }
	return F1Score{ratio(correct, predictions), ratio(correct, labels), ratio(2*correct, labels+predictions)}
}

func (c spanCounts) score(kind string) SpanScore {
	return SpanScore{kind, f1Score(c.exact, c.labels, c.predictions), c.labels, c.predictions,
		f1Score(c.overlap, c.labels, c.predictions), f1Score(c.tokenMatches, c.tokenLabels, c.tokenPredictions)}
}

// Spans returns the span scores of each type that occurs, sorted by type.
func (t *Tagging) Spans() (out []SpanScore) {
	for _, kind := range slices.Sorted(maps.Keys(t.spans)) {
		out = append(out, t.spans[kind].score(kind))
	}
	return out
}

// AllSpans returns the micro-averaged span scores of all types.
func (t *Tagging) AllSpans() SpanScore {
	var sum spanCounts
	for _, c := range t.spans {
		sum.exact, sum.overlap = sum.exact+c.exact, sum.overlap+c.overlap
		sum.labels, sum.predictions = sum.labels+c.labels, sum.predictions+c.predictions
		sum.tokenMatches, sum.tokenLabels, sum.tokenPredictions = sum.tokenMatches+c.tokenMatches, sum.tokenLabels+c.tokenLabels,
			sum.tokenPredictions+c.tokenPredictions
	}
	return sum.score("")
}

// SpanF1 returns the F1 of the spans of all types, or 0 without spans.
func (t *Tagging) SpanF1() float64 { return t.AllSpans().F1 }

// TagScore has the scores of a tag.
type TagScore struct {
	Tag    int     `json:"-"`
	Name   string  `json:"tag"`
	F1     float64 `json:"f1"`
	Tokens int64   `json:"tokens"` // tokens with this label
}

// Tags returns the scores of each tag that occurs.
func (t *Tagging) Tags(names []string) (out []TagScore) {
	for i, hits := range t.hits {
		if n := t.labels[i] + t.predictions[i]; n > 0 {
			name := strconv.Itoa(i)
			if i < len(names) {
				name = cmp.Or(names[i], name)
			}
			out = append(out, TagScore{i, name, 2 * float64(hits) / float64(n), t.labels[i]})
		}
	}
	return out
}
