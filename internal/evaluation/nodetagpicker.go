package evaluation

import (
	"maps"
	"slices"

	"github.com/sftseq/sftseq/internal/metrics"
	"github.com/sftseq/sftseq/internal/report"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
)

// NodeTagRule describes the selection of a NodeTagPicker to the reader of a page.
const NodeTagRule = "The rows are chosen by a rule: the first rows with labels; if the tags are parts, the " +
	"first rows of each category in turn."

// NodeTagPicker selects example rows of a tagging model whose tokens have features.
type NodeTagPicker struct {
	config  *sft.Config
	parts   *metrics.Parts // nil unless tags are parts
	maxRows int
	found   map[string][]report.NodeTagExample // first rows by category
}

// NewNodeTagPicker returns a picker of at most maxRows rows.
func NewNodeTagPicker(c *sft.Config, maxRows int) *NodeTagPicker {
	return &NodeTagPicker{config: c, parts: metrics.NewParts(c.LabelNames), maxRows: maxRows,
		found: map[string][]report.NodeTagExample{}}
}

// See adds a row and the model's output for it.
func (p *NodeTagPicker) See(x *seq.Example, _ int, logits []float32) {
	if !slices.ContainsFunc(x.Labels, func(label int32) bool { return label >= 0 }) {
		return
	}
	category := ""
	if p.parts != nil {
		category = p.parts.Category(x.Labels)
	}
	if len(p.found[category]) >= p.maxRows {
		return
	}
	var predicted []int32
	if p.parts != nil {
		predicted = p.parts.Predict(x.Labels, logits)
	} else {
		predicted = p.config.TagsOf(logits)
	}
	p.found[category] = append(p.found[category], report.NewNodeTagExample(x, x.ID, predicted))
}

// Rows returns the selected rows, at most maxRows.
func (p *NodeTagPicker) Rows() (out []report.NodeTagExample) {
	categories := slices.Sorted(maps.Keys(p.found))
	for round := 0; ; round++ {
		before := len(out)
		for _, c := range categories {
			if round < len(p.found[c]) && len(out) < p.maxRows {
				out = append(out, p.found[c][round])
			}
		}
		if len(out) == before {
			return out
		}
	}
}
