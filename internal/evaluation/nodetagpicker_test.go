package evaluation

import (
	"fmt"
	"testing"

	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/sft/config"
)

// TestNodeTagPicker checks that the first rows of each category are selected in turn, with
// predictions among its parts. For tags that are not parts, the first rows are selected with
// unrestricted predictions. Rows without labels are skipped.
func TestNodeTagPicker(t *testing.T) {
	pick := func(names []string) (got string) {
		p := NewNodeTagPicker(&sft.Config{
			Task:   config.Tagging,
			Inputs: config.Inputs{FeatureNames: []string{"x", "y", "z"}},
			Head:   config.Head{NumLabels: 3, LabelNames: names},
		}, 3)
		for row, labels := range [][]int32{{-1}, {0}, {1}, {0}, {2}, {0}, {0}} {
			p.See(&seq.Example{Index: uint32(row), Features: make([][]float32, 1),
				Labels: labels}, 1, []float32{1, 2, 3})
		}
		for category, rows := range p.found {
			if len(rows) > 3 {
				t.Errorf("got %d rows of %q, want at most 3", len(rows), category)
			}
		}
		for _, e := range p.Rows() {
			got += fmt.Sprintf("%d%v%v ", e.Row, e.Labels, e.Predictions)
		}
		return got
	}
	if got, want := pick([]string{"mug/body", "mug/handle", "bolt/head"}), "4[2][2] 1[0][1] 2[1][1] "; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got, want := pick([]string{"a", "b", "c"}), "1[0][2] 2[1][2] 3[0][2] "; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
