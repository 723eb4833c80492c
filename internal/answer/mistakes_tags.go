package answer

import (
	"github.com/sftseq/sftseq/internal/table"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
)

// tagMistakes are tokens with features whose tag is not the one predicted.
type tagMistakes struct{ mistakeWriter }

func tagMistakeColumns(c *sft.Config) []table.OutputColumn {
	return []table.OutputColumn{{Name: "token", Kind: table.IntColumn}, labelColumn(c, "label"), labelColumn(c, "predicted")}
}

func (m *tagMistakes) See(x *seq.Example, _ int, logits []float32) {
	for i, tag := range m.config.TagsOf(logits) {
		if label := x.Labels[i]; label != seq.NoLabel && label != tag {
			m.write(x.ID, x.Index, int64(i), columnValue(m.config.Label(int(label))), columnValue(m.config.Label(int(tag))))
		}
	}
}
