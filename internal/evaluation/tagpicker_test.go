package evaluation

import (
	"fmt"
	"testing"

	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/sft/config"
)

// TestTagPicker checks that correct and wrong rows alternate, that the other kind replaces a
// missing kind, and that rows without spans are skipped.
func TestTagPicker(t *testing.T) {
	p := NewTagPicker(&sft.Config{
		Task: config.Tagging,
		Head: config.Head{NumLabels: 2, LabelNames: []string{"O", "x"}},
	}, 4)
	for row, c := range []struct{ labels, predicted [2]int32 }{
		{[2]int32{0, 0}, [2]int32{0, 0}},
		{[2]int32{1, 0}, [2]int32{1, 0}},
		{[2]int32{1, 0}, [2]int32{1, 0}},
		{[2]int32{1, -1}, [2]int32{1, 1}}, // correct: the second token has no label
		{[2]int32{0, 0}, [2]int32{0, 1}},
	} {
		logits := make([]float32, 4)
		for i, tag := range c.predicted {
			logits[2*i+int(tag)] = 1
		}
		p.See(&seq.Example{Index: uint32(row), A: []int32{1, 2}, Labels: c.labels[:]}, 2, logits)
	}
	got := ""
	for _, e := range p.Rows() {
		got += fmt.Sprintf("%d%v%v ", e.Row, e.Labels, e.Predictions)
	}
	if want := "1[{0 1 x}][{0 1 x}] 4[][{1 2 x}] 2[{0 1 x}][{0 1 x}] 3[{0 1 x}][{0 1 x}] "; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
