package serve

import (
	"github.com/sftseq/sftseq/internal/requests"
	"github.com/sftseq/sftseq/internal/serve/batching"
	"github.com/sftseq/sftseq/sft"
)

// The methods by which a client is told of its documents, by what the model answers with.
const (
	publishMethod        = "sequence/publishClassification"
	publishSpansMethod   = "sequence/publishSpans"
	publishNumbersMethod = "sequence/publishNumbers"
	publishLabelsMethod  = "sequence/publishLabels"
)

// publishingMethod is that of a model.
func publishingMethod(c *sft.Config) string {
	switch {
	case c.Tags():
		return publishSpansMethod
	case c.Predicts():
		return publishNumbersMethod
	case c.LabelsHold():
		return publishLabelsMethod
	}
	return publishMethod
}

// published is what each of these methods says of a document.
type published struct {
	URI     string `json:"uri"`
	Version int64  `json:"version"`
	publishedClass
	publishedSpans
	publishedNumbers
	publishedLabels
	Length  int       `json:"length,omitempty"` // of the text, in tokens
	Used    *int      `json:"used,omitempty"`   // of these, where an input window may cut
	Window  *windowed `json:"window,omitempty"`
	Windows []any     `json:"windows,omitempty"`
	Error   *Error    `json:"error,omitempty"` // in place of the answer
}

type publishedClass struct {
	Label  any       `json:"label,omitempty"`
	Scores []float32 `json:"scores,omitempty"` // probabilities
	Logits []float32 `json:"logits,omitempty"`
}

type publishedSpans struct {
	Spans []sft.Span `json:"spans,omitzero"`
	Unit  string     `json:"unit,omitempty"`
}

type publishedNumbers struct {
	Numbers requests.NamedNumbers `json:"numbers,omitzero"`
}

type publishedLabels struct {
	Labels        []any                 `json:"labels,omitzero"`
	Probabilities requests.NamedNumbers `json:"probabilities,omitzero"`
}

// publication is what a document's client is told of its text; err is why the text could not be
// read.
func (c *call) publication(q *sequence, text string, err error) published {
	if err == nil && c.model.config.Featured() { // since a reload
		err = badParam("text", featured+": expected no document")
	}
	var answer any
	if err == nil {
		answer, err = c.answerText(q, text)
	}
	out := published{URI: q.document.uri, Version: q.version, Length: len(q.tokens)}
	if err != nil {
		out.Error = asError(err)
		return out
	}
	switch a := answer.(type) {
	case classification:
		out.publishedClass, out.Used = publishedClass{a.Label, a.Probabilities, a.Logits}, a.Used
		out.Window = a.Window
		for _, w := range a.Windows {
			out.Windows = append(out.Windows, w)
		}
	case tagged:
		out.publishedSpans, out.Used = publishedSpans{a.Spans.Spans, a.Unit}, a.Used
	case predicted:
		out.publishedNumbers, out.Used = publishedNumbers{a.Numbers.Numbers}, a.Used
		out.Window, out.Windows = a.Window, a.Windows
	case labelled:
		out.publishedLabels, out.Used = publishedLabels{a.Labels.Labels, a.Probabilities}, a.Used
		out.Window, out.Windows = a.Window, a.Windows
	}
	return out
}

// answerText is the answer for a document's text, for which memory is reserved that is given back.
func (c *call) answerText(q *sequence, text string) (out any, err error) {
	defer c.recovered(&err)
	if q.tokens, err = c.encodeText(q.field, text); err != nil {
		return nil, err
	}
	var i *item
	switch w := q.document.window; publishingMethod(c.model.config) {
	case publishSpansMethod:
		q.text = &text
		i = c.tagSequence(q)
	case publishNumbersMethod:
		i = c.predictSequence(q, w)
	case publishLabelsMethod:
		i = c.labelSequence(q, w)
	default:
		i = c.classifySequence(batching.Classify, q, w)
	}
	c.start(i)
	defer c.close(i)
	return c.wait(i)
}
