package lra

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sftseq/sftseq/internal/graphlines"
	"github.com/sftseq/sftseq/seq"
)

// PublishedRows is the total number of rows in some splits of a published task.
type PublishedRows struct {
	Splits []string
	Rows   int64
}

// Differences returns a text for each entry of t.Rows whose splits have another number of rows in
// the data set. Results on such splits are not comparable. Differences skips entries whose splits are
// all missing.
func (t *Task) Differences(m *seq.Manifest) (out []string) {
	for _, p := range t.Rows {
		rows, exists := int64(0), false
		for _, split := range p.Splits {
			info, ok := m.Splits[split]
			rows, exists = rows+info.Rows, exists || ok
		}
		if exists && rows != p.Rows {
			out = append(out, fmt.Sprintf("%s: expected the %d rows of the published task, found %d: "+
				"results are not comparable with published results", strings.Join(p.Splits, " and "), p.Rows, rows))
		}
	}
	return out
}

// Matches reports whether data have the task's kind, labels, numbers and features. It ignores the name
// and the tokenizer, and the labels if the task has none. If the importer can add the features of a
// random walk, the data may have these features too.
func (t *Task) Matches(s *seq.Spec) bool {
	features := len(t.Features)
	if t.Import != nil && t.Import.Walks && len(s.FeatureNames) > features &&
		slices.Equal(s.FeatureNames[features:], graphlines.WalkNames(len(s.FeatureNames)-features)) {
		features = len(s.FeatureNames)
	}
	return s.Task == t.Kind && (t.Labels == nil || slices.Equal(s.LabelNames, t.Labels)) &&
		slices.Equal(s.NumberNames, t.Numbers) &&
		len(s.FeatureNames) == features && slices.Equal(s.FeatureNames[:len(t.Features)], t.Features) &&
		s.Edged() == (t.EdgeFeatures != nil) && slices.Equal(s.EdgeFeatureNames, t.EdgeFeatures)
}
