package metrics

import (
	"math"
	"slices"
)

// SpanDecoding has the parameters that decode the logits z_t of tokens into tags y_t. The zero value
// selects the tag with the largest logit for each token. With a span penalty λ the tags are
//
//	argmax_y Σ_t z_t(y_t) − λ·spans(y)
//
// where spans(y) is the number of spans of [Tags.Spans]. The Viterbi algorithm finds the maximum in
// O(tokens · tags). Afterwards, two consecutive spans of the same type with at most MaxGap tokens of O
// between them are joined, if a tag continues spans of the type. Then spans of fewer than MinLength
// tokens become O. Without a tag O, neither happens.
//
// Source: Viterbi, "Error bounds for convolutional codes and an asymptotically optimum decoding
// algorithm", IEEE Transactions on Information Theory 13(2), 1967.
type SpanDecoding struct {
	SpanPenalty float64
	MaxGap      int // 0 joins no spans
	MinLength   int
}

// Decode returns the tag of each token. logits has one row per token.
func (t *Tags) Decode(d SpanDecoding, logits []float32) []int32 {
	tags := t.viterbi(d.SpanPenalty, logits)
	t.smooth(tags, d.MaxGap, d.MinLength)
	return tags
}

// viterbi returns the tags that maximise the sum of their logits minus a penalty per span. The best path
// to a tag B-X or O extends the best path to the previous token. The best path to any other tag extends
// the best path that ends in the tag's type, or begins a span if the score is then higher.
func (t *Tags) viterbi(penalty float64, logits []float32) []int32 {
	n := len(t.kind)
	tokens := len(logits) / n
	tags := make([]int32, tokens)
	if penalty == 0 || tokens == 0 {
		for i := range tags {
			tags[i] = Argmax(logits[i*n : (i+1)*n])
		}
		return tags
	}
	kinds := t.types()
	sum, last := make([]float64, n), make([]float64, n)
	bestOf := make([]int32, tokens)             // last tag of the best path up to each token
	continues := make([]bool, tokens*n)         // whether a tag continues the best path of its type
	bestIn := make([]int32, tokens*kinds.count) // last tag of the best path by token and type
	for i := range tokens {
		row := logits[i*n : (i+1)*n]
		sum, last = last, sum
		for tag, k := range t.kind {
			score, kind := 0.0, kinds.byTag[tag]
			if i > 0 {
				score = last[bestOf[i-1]]
			}
			if !k.outside {
				score -= penalty
				if i > 0 && !k.begins {
					if same := last[bestIn[(i-1)*kinds.count+int(kind)]]; same >= score {
						score, continues[i*n+tag] = same, true
					}
				}
			}
			sum[tag] = score + float64(row[tag])
		}
		bestOf[i] = 0
		bestInType := bestIn[i*kinds.count : (i+1)*kinds.count]
		for kind := range bestInType {
			bestInType[kind] = -1
		}
		for tag, s := range sum {
			if s > sum[bestOf[i]] {
				bestOf[i] = int32(tag)
			}
			if kind := kinds.byTag[tag]; bestInType[kind] < 0 || s > sum[bestInType[kind]] {
				bestInType[kind] = int32(tag)
			}
		}
	}
	tag := bestOf[tokens-1]
	for i := tokens - 1; ; i-- {
		tags[i] = tag
		if i == 0 {
			return tags
		}
		if continues[i*n+int(tag)] {
			tag = bestIn[(i-1)*kinds.count+int(kinds.byTag[tag])]
		} else {
			tag = bestOf[i-1]
		}
	}
}

// tagTypes numbers the types of tags. All tags outside of spans share one type.
type tagTypes struct {
	byTag []int32 // number of the type of each tag
	count int
}

func (t *Tags) types() tagTypes {
	out := tagTypes{byTag: make([]int32, len(t.kind))}
	number := map[tagKind]int32{}
	for i, k := range t.kind {
		k.begins = false
		if _, known := number[k]; !known {
			number[k] = int32(len(number))
		}
		out.byTag[i] = number[k]
	}
	out.count = len(number)
	return out
}

// smooth joins spans and removes short spans, in place. Without an O tag it does nothing.
func (t *Tags) smooth(tags []int32, maxGap, minLength int) {
	out := int32(slices.IndexFunc(t.kind, func(k tagKind) bool { return k.outside }))
	if out < 0 || maxGap <= 0 && minLength <= 1 {
		return
	}
	for _, s := range t.mergeSpans(t.Spans(tags), maxGap) {
		if s.End-s.Start < minLength {
			for i := s.Start; i < s.End; i++ {
				tags[i] = out
			}
			continue
		}
		for i := s.Start + 1; i < s.End; i++ {
			if k := t.kind[tags[i]]; k.outside || k.begins {
				tags[i] = t.continuingTag(s.Type)
			}
		}
	}
}

// mergeSpans merges consecutive spans of one type with at most maxGap tokens between them; 0 merges
// none. Spans of a type without a continuing tag are not merged.
func (t *Tags) mergeSpans(spans []Span, maxGap int) (out []Span) {
	for _, s := range spans {
		if last := len(out) - 1; maxGap > 0 && last >= 0 && out[last].Type == s.Type &&
			s.Start-out[last].End <= maxGap && t.continuingTag(s.Type) >= 0 {
			out[last].End = s.End
			continue
		}
		out = append(out, s)
	}
	return out
}

// continuingTag returns the tag that continues spans of a type, or -1.
func (t *Tags) continuingTag(kind string) int32 {
	return int32(slices.IndexFunc(t.kind,
		func(k tagKind) bool { return !k.outside && !k.begins && k.spanType == kind }))
}

// Argmax returns the index of the largest value, the first if several tie.
func Argmax(row []float32) int32 {
	best := 0
	for i, v := range row {
		if v > row[best] {
			best = i
		}
	}
	return int32(best)
}

// Parameter grid of [DecodingChoice].
var (
	spanPenalties = []float64{0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512}
	maxGaps       = []int{0, 1, 4, 16, 64, 256}
	minLengths    = []int{0, 4, 16, 64, 256}
)

// DecodingChoice selects the [SpanDecoding] that maximises the mean of the exact span F1 and the
// span F1 at IoU ≥ 0.5. Ties are resolved to the smallest penalty, then the smallest gap, then the
// smallest length.
type DecodingChoice struct {
	tags      *Tags
	decodings []SpanDecoding
	counts    []spanCounts
}

// NewDecodingChoice returns an empty DecodingChoice for n tags with the given names.
func NewDecodingChoice(names []string, n int) *DecodingChoice {
	c := &DecodingChoice{tags: NewTags(names, n)}
	gaps, lengths := maxGaps, minLengths
	if !slices.ContainsFunc(c.tags.kind, func(k tagKind) bool { return k.outside }) {
		gaps, lengths = gaps[:1], lengths[:1]
	}
	for _, penalty := range spanPenalties {
		for _, gap := range gaps {
			for _, length := range lengths {
				c.decodings = append(c.decodings, SpanDecoding{penalty, gap, length})
			}
		}
	}
	c.counts = make([]spanCounts, len(c.decodings))
	return c
}

// Add adds a sequence: the label of each token, negative if missing, and the logits of each token.
func (c *DecodingChoice) Add(labels []int32, logits []float32) {
	want := c.tags.SpansAmong(labels, labels)
	hasUnlabelled := slices.ContainsFunc(labels, func(label int32) bool { return label < 0 })
	previous := SpanDecoding{SpanPenalty: math.NaN()}
	var path []int32
	var spans, joined []Span
	for i, d := range c.decodings {
		if d.SpanPenalty != previous.SpanPenalty {
			path = c.tags.viterbi(d.SpanPenalty, logits)
			spans = c.tags.Spans(path)
		}
		if d.SpanPenalty != previous.SpanPenalty || d.MaxGap != previous.MaxGap {
			joined = c.tags.mergeSpans(spans, d.MaxGap)
		}
		previous = d
		var got []Span
		if hasUnlabelled { // unlabelled tokens are removed before spans are formed
			tags := slices.Clone(path)
			c.tags.smooth(tags, d.MaxGap, d.MinLength)
			got = c.tags.SpansAmong(labels, tags)
		} else {
			got = slices.DeleteFunc(slices.Clone(joined), func(s Span) bool { return s.End-s.Start < d.MinLength })
		}
		n := &c.counts[i]
		n.labels, n.predictions = n.labels+int64(len(want)), n.predictions+int64(len(got))
		forEachMatch(want, got, func(label, prediction Span) {
			if n.overlap++; label == prediction {
				n.exact++
			}
		})
	}
}

// Best returns the selected decoding and the score of its spans. SpanScore.Tokens is not computed.
func (c *DecodingChoice) Best() (SpanDecoding, SpanScore) {
	best, bestMean := 0, -1.0
	for i, n := range c.counts {
		s := n.score("")
		if mean := (s.F1 + s.Overlap.F1) / 2; mean > bestMean {
			best, bestMean = i, mean
		}
	}
	return c.decodings[best], c.counts[best].score("")
}
