package must

import (
	"fmt"
	"io"
	"testing"
)

// recorder records the report of an assertion instead of failing the test.
type recorder struct {
	testing.TB
	ended, failed string
}

func (r *recorder) Helper()           {}
func (r *recorder) Fatal(args ...any) { r.ended = fmt.Sprint(args...) }
func (r *recorder) Error(args ...any) { r.failed = fmt.Sprint(args...) }

// TestAssertions checks that each assertion passes on the expected result and reports all other
// results.
func TestAssertions(t *testing.T) {
	broken := fmt.Errorf("disk full: %w", io.ErrShortWrite)
	for name, c := range map[string]struct {
		assert        func(t testing.TB, err error)
		ended, failed string // report for the error broken
		onNil         string // report for nil
	}{
		"Succeed": {func(t testing.TB, err error) { Succeed(t, err, "case") }, "case" + broken.Error(), "", ""},
		"Check":   {func(t testing.TB, err error) { Check(t, err) }, "", broken.Error(), ""},
		"Get": {func(t testing.TB, err error) {
			if got := Get("a", err)(t, "case"); got != "a" {
				t.Error("got " + got + ", want a")
			}
		}, "case" + broken.Error(), "", ""},
		"Get2": {func(t testing.TB, err error) {
			if a, b := Get2("a", 2, err)(t); a != "a" || b != 2 {
				t.Error("got "+a+" and ", b, ", want a and 2")
			}
		}, broken.Error(), "", ""},
		"Fail with this text": {func(t testing.TB, err error) { Fail(t, "disk full")("value", err) }, "", "",
			`found the error <nil>, expected one that contains "disk full"`},
		"Fail with any error": {func(t testing.TB, err error) { Fail(t, "")(err) }, "", "",
			`found the error <nil>, expected one that contains ""`},
		"Fail with another text": {func(t testing.TB, err error) { Fail(t, "denied", "case")(err) }, "",
			`casefound the error disk full: short write, expected one that contains "denied"`,
			`casefound the error <nil>, expected one that contains "denied"`},
		"FailWith the wrapped error": {func(t testing.TB, err error) { FailWith(t, io.ErrShortWrite)(0, err) }, "", "",
			"found the error <nil>, expected short write"},
		"FailWith another error": {func(t testing.TB, err error) { FailWith(t, io.EOF)(err) }, "",
			"found the error disk full: short write, expected EOF", "found the error <nil>, expected EOF"},
	} {
		r, onNil := &recorder{}, &recorder{}
		c.assert(r, broken)
		c.assert(onNil, error(nil))
		if r.ended != c.ended || r.failed != c.failed || onNil.ended != "" || onNil.failed != c.onNil {
			t.Errorf("%s: got Fatal and Error reports %q of error %v, want %q; got %q of error <nil>, want %q", name,
				[]string{r.ended, r.failed}, broken, []string{c.ended, c.failed},
				[]string{onNil.ended, onNil.failed}, []string{"", c.onNil})
		}
	}
}
