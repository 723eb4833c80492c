package config

import (
	"fmt"
	"math"
	"slices"

	"github.com/sftseq/sftseq/internal/metrics"
)

// Span is a run of tokens that forms a unit, such as a name in a text.
type Span struct {
	Start int     `json:"start"` // index of the first token
	End   int     `json:"end"`   // index after the last token
	Label string  `json:"label"`
	Score float32 `json:"score"` // mean probability of its tokens' tags
}

// Spans returns the spans that a tagging model predicts, ordered by Start.
//
// Tags B-X and I-X form a span of type X. It begins at B-X, or at an I-X that follows neither B-X
// nor I-X, and ends before the next tag that is not I-X. This is the lenient reading of conlleval
// (Tjong Kim Sang and Buchholz, "Introduction to the CoNLL-2000 Shared Task: Chunking", 2000). For
// other tags, a span is a maximal run of the same tag. O is never part of a span.
func (c *Config) Spans(logits []float32) (out []Span) {
	tags := c.TagsOf(logits)
	for _, s := range metrics.NewTags(c.LabelNames, c.NumLabels).Spans(tags) {
		sum := 0.0
		for t := s.Start; t < s.End; t++ {
			sum += float64(float32(metrics.Softmax(logits[t*c.NumLabels : (t+1)*c.NumLabels])[tags[t]]))
		}
		out = append(out, Span{s.Start, s.End, s.Type, float32(sum / float64(s.End-s.Start))})
	}
	return out
}

// SpanDecoding defines how the logits z_t of the tokens of a text become tags y_t. The zero value
// selects the largest logit of each token. Otherwise the tags are
//
//	argmax_y Σ_t z_t(y_t) − λ·spans(y)
//
// with λ the span penalty and spans(y) the number of spans of y. Then spans of the same type with
// at most MaxGap tokens of O between them are joined, and spans of fewer than MinLength tokens
// become O. Training chooses the decoding on the validation split ([train.Settings.SpanDecoding]).
//
// Source: Viterbi, "Error bounds for convolutional codes and an asymptotically optimum decoding
// algorithm", IEEE Transactions on Information Theory 13(2), 1967.
type SpanDecoding struct {
	SpanPenalty float64 `json:"span_penalty,omitempty"` // in nats
	MaxGap      int     `json:"max_gap,omitempty"`      // 0 joins no spans
	MinLength   int     `json:"min_length,omitempty"`
}

// maxSpanTokens limits MaxGap and MinLength.
const maxSpanTokens = 1 << 30

// TagsOf returns the tag of each token, decoded from the logits with [Config.SpanDecoding].
func (c *Config) TagsOf(logits []float32) []int32 {
	if d := c.SpanDecoding; d != nil && *d != (SpanDecoding{}) {
		return metrics.NewTags(c.LabelNames, c.NumLabels).Decode(metrics.SpanDecoding(*d), logits)
	}
	return c.LikeliestTags(logits)
}

// LikeliestTags returns the tag with the largest logit for each token, without [Config.SpanDecoding].
func (c *Config) LikeliestTags(logits []float32) (tags []int32) {
	for row := range slices.Chunk(logits, c.NumLabels) {
		tags = append(tags, metrics.Argmax(row))
	}
	return tags
}

// validateSpanDecoding returns an error for an invalid decoding.
func (c *Config) validateSpanDecoding() error {
	d := c.SpanDecoding
	switch {
	case d == nil:
		return nil
	case c.Task != Tagging || c.HasFeatures():
		return &Error{"span_decoding", fmt.Sprintf("%+v", *d), "none: only models that tag text decode spans"}
	case !(d.SpanPenalty >= 0) || math.IsInf(d.SpanPenalty, 1):
		return &Error{"span_decoding.span_penalty", fmt.Sprint(d.SpanPenalty), "a finite number ≥ 0"}
	case d.MaxGap < 0 || d.MaxGap > maxSpanTokens:
		return &Error{"span_decoding.max_gap", fmt.Sprint(d.MaxGap), fmt.Sprintf("0 to %d", maxSpanTokens)}
	case d.MinLength < 0 || d.MinLength > maxSpanTokens:
		return &Error{"span_decoding.min_length", fmt.Sprint(d.MinLength), fmt.Sprintf("0 to %d", maxSpanTokens)}
	}
	return nil
}

// String describes a decoding in words.
func (d SpanDecoding) String() string {
	if d == (SpanDecoding{}) {
		return "each token independently"
	}
	return fmt.Sprintf("span penalty %.3g, gaps of up to %d tokens joined, spans of fewer than %d tokens removed",
		d.SpanPenalty, d.MaxGap, d.MinLength)
}
