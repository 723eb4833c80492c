package evaluation

import (
	"slices"

	"github.com/sftseq/sftseq/internal/metrics"
	"github.com/sftseq/sftseq/internal/report"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
)

// TagRule describes the selection of a TagPicker to the reader of a page.
const TagRule = "The rows are chosen by a rule: alternately the next row with only correct spans and the next " +
	"row with a missed or wrong span; rows without spans are skipped."

// TagPicker selects example rows of a tagging model.
type TagPicker struct {
	config  *sft.Config
	tags    *metrics.Tags
	maxRows int
	found   [2][]report.TagExample // first rows with only correct spans, and first rows with a missed or wrong span
}

// NewTagPicker returns a picker of at most maxRows rows.
func NewTagPicker(c *sft.Config, maxRows int) *TagPicker {
	return &TagPicker{config: c, tags: metrics.NewTags(c.LabelNames, c.NumLabels), maxRows: maxRows}
}

// See adds a row and the model's output for it.
func (p *TagPicker) See(x *seq.Example, _ int, logits []float32) {
	tags := p.config.TagsOf(logits)
	labels, predicted := p.tags.SpansAmong(x.Labels, x.Labels), p.tags.SpansAmong(x.Labels, tags)
	if len(labels)+len(predicted) == 0 {
		return
	}
	kind := 0
	if !slices.Equal(labels, predicted) {
		kind = 1
	}
	if len(p.found[kind]) < p.maxRows {
		p.found[kind] = append(p.found[kind], report.TagExample{Row: x.Index, ID: x.ID, Tokens: slices.Clone(x.A),
			Labels: labels, Predictions: predicted})
	}
}

// Rows returns the selected rows, at most maxRows.
func (p *TagPicker) Rows() (out []report.TagExample) {
	correct, wrong := p.found[0], p.found[1]
	for len(out) < p.maxRows && len(correct)+len(wrong) > 0 {
		from := &correct
		if len(out)%2 == 1 && len(wrong) > 0 || len(correct) == 0 {
			from = &wrong
		}
		out, *from = append(out, (*from)[0]), (*from)[1:]
	}
	return out
}
