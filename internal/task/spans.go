package task

import (
	"encoding/json"
	"fmt"

	"github.com/sftseq/sftseq/internal/metrics"
	"github.com/sftseq/sftseq/internal/requests"
	"github.com/sftseq/sftseq/internal/table"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/tokenizers"
)

// spans is the task of a model that tags tokens in a sequence, where tags form spans.
type spans struct{ commonTask }

func (t spans) ReadLabels(r *requests.Request, e *seq.Example) (err error) {
	e.Labels, err = parseTags(t.config, r.Labels, e.First())
	return err
}

// parseTags parses a list of one label per token, each with [requests.ParseLabel]. null and -1 mean no
// label.
func parseTags(c *sft.Config, value json.RawMessage, tokens int) ([]int32, error) {
	if value == nil {
		return nil, fmt.Errorf("labels are missing, expected one for each of the %d tokens", tokens)
	}
	var list []json.RawMessage
	if err := json.Unmarshal(value, &list); err != nil || len(list) != tokens {
		return nil, fmt.Errorf("labels: expected a list with one label for each of the %d tokens, found %.80s", tokens,
			value)
	}
	out := make([]int32, tokens)
	for i, label := range list {
		out[i] = seq.NoLabel
		if text := string(label); text == "null" || text == "-1" {
			continue
		}
		var err error
		if out[i], err = requests.ParseLabel(c, label); err != nil {
			return nil, fmt.Errorf("labels: index %d: %w", i, err)
		}
	}
	return out, nil
}

func (t spans) Prediction(r *requests.Request, o sft.Output) (any, error) {
	return requests.NewSpans(t.config.Spans(o.Logits), r)
}

func (t spans) ResponseNumbers(tokens int) int { return tagNumbers(t.config, tokens) }

// tagNumbers estimates the memory of a prediction in units of 16 bytes: four units per token, and the
// logits, which count twice for Viterbi decoding.
func tagNumbers(c *sft.Config, tokens int) int {
	const logitBytes, numberBytes = 4, 16
	logits := logitBytes * c.NumLabels
	if d := c.SpanDecoding; d != nil && d.SpanPenalty > 0 {
		logits *= 2
	}
	return tokens * (4 + (logits+numberBytes-1)/numberBytes)
}

// Columns returns the columns of the spans, as a JSON list, and of their unit. For BED one column holds
// the prediction.
func (t spans) Columns(format string) requests.Columns {
	switch format {
	case table.BED:
		return requests.Columns{Columns: []table.OutputColumn{{Name: "spans"}},
			Values: func(prediction any) []any { return []any{prediction} }}
	case "jsonl":
		return requests.JSONColumns(func(prediction any) []any {
			s := prediction.(requests.Spans)
			return []any{s.Spans, s.Unit}
		}, "spans", "unit")
	}
	return requests.Columns{Columns: []table.OutputColumn{{Name: "spans"}, {Name: "unit"}},
		Values: func(prediction any) []any {
			s := prediction.(requests.Spans)
			return []any{asJSON(s.Spans), s.Unit}
		}}
}

func (spans) HasPositions() bool { return true }

func (spans) Method() string { return "sequence/tag" }

func (spans) Shape() any { return requests.Spans{} }

func (spans) Notification() string { return "sequence/publishSpans" }

// spanMistakes is a [Mistakes] that writes the missed and the wrong spans.
type spanMistakes struct {
	mistakeWriter
	config    *sft.Config
	tags      *metrics.Tags
	tokenizer tokenizers.Tokenizer
}

func (t spans) mistakes(_ string, tokenizer tokenizers.Tokenizer) ([]table.OutputColumn, func(mistakeWriter) Mistakes) {
	columns := []table.OutputColumn{{Name: "mistake"}, {Name: "label"}, {Name: "start", Kind: table.IntColumn},
		{Name: "end", Kind: table.IntColumn}, {Name: "text"}}
	return columns, func(w mistakeWriter) Mistakes {
		return &spanMistakes{w, t.config, metrics.NewTags(t.config.LabelNames, t.config.NumLabels), tokenizer}
	}
}

func (m *spanMistakes) See(x *seq.Example, _ int, logits []float32) {
	labelled, predicted := m.tags.SpansAmong(x.Labels, x.Labels), m.tags.SpansAmong(x.Labels, m.config.TagsOf(logits))
	m.add(x, "missed", labelled, predicted)
	m.add(x, "wrong", predicted, labelled)
}

// add writes the spans that are not in others, with the kind of mistake.
func (m *spanMistakes) add(x *seq.Example, mistake string, spans, others []metrics.Span) {
	known := metrics.SpanSet(others)
	for _, s := range spans {
		if known[s] {
			continue
		}
		var text any
		if m.tokenizer != nil {
			text = m.tokenizer.Decode(x.A[s.Start:s.End])
		}
		m.write(x.ID, x.Index, mistake, s.Type, int64(s.Start), int64(s.End), text)
	}
}

func (t spans) CheckLabels(s *seq.Spec) error { return checkLabels(t.config, s, seq.Tagging) }

func (spans) RequireLabels(s *seq.Spec, path string) error { return checkTagged(s, path) }

func (t spans) Outputs() (one, many string, names []string) {
	return "tag", "tags", t.config.LabelNames
}

func (t spans) Draw(e *seq.Example, tokens int, d Draws) { drawTags(t.config, e, tokens, d) }

func drawTags(c *sft.Config, e *seq.Example, tokens int, d Draws) {
	e.Labels = make([]int32, tokens)
	for at := range e.Labels {
		e.Labels[at] = d.Label(at, c.NumLabels)
	}
}
