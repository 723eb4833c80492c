package rope

import (
	"testing"

	"github.com/sftseq/sftseq/internal/must"
)

// TestText checks positions in each unit, and that only byte ranges are refused if they split a
// character.
func TestText(t *testing.T) {
	for _, c := range []struct {
		unit                   Unit
		start, end, after, len int
		splitError             string // error for a position in the middle of 😀
	}{
		{Bytes, 1, 5, 4, 5, "byte 3 is within a character"},
		{UTF16, 1, 3, 3, 4, ""},
		{Characters, 1, 2, 3, 4, ""},
	} {
		x := Text{Unit: c.unit}
		if at := x.Edit(0, 0, []byte("a😀b")); at != x.Length() || x.String() != "a😀b" {
			t.Errorf("%v: got %q, position %d after the text; want %q, %d", c.unit, x.String(), at, "a😀b", x.Length())
		}
		middle := (c.start + c.end) / 2
		if err := x.CheckRange(middle, c.end); c.splitError == "" && err != nil || c.splitError != "" &&
			(err == nil || err.Error() != c.splitError) {
			t.Errorf("%v: split at %d: got error %v, want %q", c.unit, middle, err, c.splitError)
		}
		for _, bad := range [][2]int{{-1, 0}, {2, 1}, {0, x.Length() + 1}} {
			must.Fail(t, "expected a range within", c.unit, bad)(x.CheckRange(bad[0], bad[1]))
		}
		must.Check(t, x.CheckRange(c.start, c.end))
		if at := x.Edit(c.start, c.end, []byte("éc")); at != c.after || x.String() != "aécb" || x.Length() != c.len {
			t.Errorf("%v: got %q of length %d, position %d after the edit; want %q, %d, %d",
				c.unit, x.String(), x.Length(), at, "aécb", c.len, c.after)
		}
	}
}
