package configtest

import (
	"slices"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft/config"
)

// SeriesSet creates a data set of series with the given feature names. Its training split has the
// rows. Its validation split has the same number of rows, each with one step whose features are 1e6.
func SeriesSet(t *testing.T, names []string, rows ...[][]float32) *seq.Dataset {
	t.Helper()
	b := must.Get(seq.CreateDataset(t.TempDir(),
		seq.Spec{Task: config.Classification, Name: "series", FeatureNames: names,
			LabelNames: []string{"a", "b"}}, false))(t)
	for _, split := range []string{"train", "val"} {
		w := must.Get(b.Split(split))(t)
		for i, features := range rows {
			if split == "val" {
				features = [][]float32{slices.Repeat([]float32{1e6}, len(names))}
			}
			must.Succeed(t, w.Write(seq.Example{Features: features, Label: int32(i % 2)}))
		}
		must.Succeed(t, w.Close())
	}
	return must.Get(b.Finish(nil))(t)
}
