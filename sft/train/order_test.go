package train

import (
	"testing"

	"github.com/sftseq/sftseq/internal/must"
)

// TestStages checks that a stage trains equally often on each of its rows and never on others, and that
// the epoch after it trains on all rows. A stage on more rows than the split has must be refused.
func TestStages(t *testing.T) {
	lengths := []int32{9, 2, 7, 3, 8, 1, 6, 4, 5, 10}
	s := runSettings()
	for _, stage := range []Stage{{Steps: 1, Rows: 11}, {Steps: 1, LastRows: 11}} {
		s.Stages = []Stage{{Steps: 1, Length: 3}, stage}
		must.Fail(t, "stage 2 trains on 11 rows, but the training data has only 10",
			"more rows than there are")(newOrder(lengths, s))
	}
	for _, c := range []struct {
		stage Stage
		rows  []uint32
	}{
		{Stage{Steps: 4, Length: 4}, []uint32{1, 3, 5, 7}},
		{Stage{Steps: 4, Rows: 4}, []uint32{0, 1, 2, 3}},
		{Stage{Steps: 4, LastRows: 4}, []uint32{6, 7, 8, 9}},
		{Stage{Steps: 10, Rows: 10}, []uint32{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}},
	} {
		s := runSettings()
		s.Batch, s.Epochs, s.Stages = 2, 1, []Stage{c.stage}
		o := must.Get(newOrder(lengths, s))(t)
		var state State
		seen := map[uint32]int{}
		for ; state.Step < c.stage.Steps; state.Step++ {
			rows, _ := o.batch(state)
			for _, row := range rows {
				seen[row]++
			}
			state.Next = o.next(state)
		}
		for _, row := range c.rows {
			if times := 2 * c.stage.Steps / len(c.rows); seen[row] != times {
				t.Errorf("%+v: row %d was in %d batches, expected %d", c.stage, row, seen[row], times)
			}
		}
		if len(seen) != len(c.rows) {
			t.Errorf("%+v trained on %v, expected the rows %v", c.stage, seen, c.rows)
		}
		clear(seen)
		for ; state.Step < o.steps(&s); state.Step++ {
			rows, _ := o.batch(state)
			for _, row := range rows {
				seen[row]++
			}
			state.Next = o.next(state)
		}
		if len(seen) != len(lengths) {
			t.Errorf("after the stages %+v an epoch has %d rows, expected %d", c.stage, len(seen), len(lengths))
		}
	}
}
