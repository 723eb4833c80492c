package source

import (
	"errors"
	"fmt"
	"testing"
)

// TestRows checks that rows are counted by reason, with locations and details of the first few
// rows, and that equal notes are reported once.
func TestRows(t *testing.T) {
	s := NewSkipped()
	for i := range 5 {
		s.Read++
		s.Add(fmt.Sprintf("a.csv:%d", i), Skip("no label", nil))
	}
	s.Read++
	s.Add("b.csv:9", Skip("a bad number", errors.New(`found "x"`)))
	s.Repeated.Add(func() string { return "c.csv:1" })
	s.SameID.Add(func() string { return "c.csv:2" })
	s.Note("a note")
	s.Note("a note")
	const want = `1 of 6 rows left out: a bad number
  b.csv:9: found "x"
5 of 6 rows left out: no label
  a.csv:0
  a.csv:1
  a.csv:2
  and 2 more
1 of 6 rows repeat the text of an earlier row, and are kept
  c.csv:1
1 of 6 rows repeat the id of an earlier row, and are kept: their ids are not unique
  c.csv:2
a note
`
	if got := s.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if s.Left() != 6 || s.Counts()["no label"] != 5 ||
		s.Nothing().Error() != "no row can be used\n"+want[:len(want)-1] {
		t.Errorf("got %d skipped rows, counts %v, error %v, want 6 skipped rows, 5 without a label, and the report as "+
			"the error", s.Left(), s.Counts(), s.Nothing())
	}
}
