package evaluation

import (
	"fmt"
	"testing"

	"github.com/sftseq/sftseq/seq"
)

// TestPicker checks that classes and outcomes alternate, and that the other outcome replaces a
// missing outcome.
func TestPicker(t *testing.T) {
	p := NewPicker(3, 5)
	row := uint32(0)
	see := func(label, predicted int) {
		logits := make([]float32, 3)
		logits[predicted] = 1
		x := exampleOf(row, label)
		p.See(&x, x.Length(), logits)
		row++
	}
	see(0, 0) // row 0
	see(0, 0)
	see(1, 1)
	see(1, 0) // 3
	see(0, 2)
	see(2, 0) // 5
	if got := fmt.Sprint(p.rows()); got != "[{0 0.wav} {3 3.wav} {5 5.wav} {4 4.wav} {2 2.wav}]" {
		t.Errorf("got rows %s, want rows 0, 3, 5, 4, 2", got)
	}
}

func exampleOf(row uint32, label int) seq.Example {
	return seq.Example{Index: row, ID: fmt.Sprintf("%d.wav", row), A: []int32{1}, Label: int32(label)}
}
