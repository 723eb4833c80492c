package answer

import (
	"github.com/sftseq/sftseq/internal/metrics"
	"github.com/sftseq/sftseq/internal/table"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/tokenizers"
)

// spanMistakes are spans that the labels have and the answers do not, and the other way round.
type spanMistakes struct {
	mistakeWriter
	tags      *metrics.Tags
	tokenizer tokenizers.Tokenizer
}

func spanMistakeColumns() []table.OutputColumn {
	return []table.OutputColumn{{Name: "mistake"}, {Name: "label"}, {Name: "start", Kind: table.IntColumn}, {Name: "end", Kind: table.IntColumn}, {Name: "text"}}
}

func newSpanMistakes(w mistakeWriter, tokenizer tokenizers.Tokenizer) *spanMistakes {
	return &spanMistakes{w, metrics.NewTags(w.config.LabelNames, w.config.NumLabels), tokenizer}
}

func (m *spanMistakes) See(x *seq.Example, _ int, logits []float32) {
	labels, answers := m.tags.SpansAmong(x.Labels, x.Labels), m.tags.SpansAmong(x.Labels, m.config.TagsOf(logits))
	m.add(x, "missed", labels, answers)
	m.add(x, "wrong", answers, labels)
}

// add writes the spans that are not among others.
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
