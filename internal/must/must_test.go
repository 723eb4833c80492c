package must

import (
	"errors"
	"strings"
	"testing"
)

// recorder records what an assertion reports in place of failing the test that calls it.
type recorder struct {
	testing.TB
	fatal, failed string
}

func (r *recorder) Helper()           {}
func (r *recorder) Fatal(args ...any) { r.fatal = args[0].(error).Error() }
func (r *recorder) Error(args ...any) { r.failed = args[0].(string) }

// TestAssertions: each assertion passes on the result that it expects and fails on every other.
func TestAssertions(t *testing.T) {
	broken := errors.New("the disk is full")
	for _, err := range []error{nil, broken} {
		for name, assert := range map[string]func(t testing.TB){
			"Succeed": func(t testing.TB) { Succeed(t, err) },
			"Get": func(t testing.TB) {
				if got := Get("a", err)(t); got != "a" {
					t.Fatal(errors.New(got))
				}
			},
			"Get2": func(t testing.TB) {
				if a, b := Get2("a", 2, err)(t); a != "a" || b != 2 {
					t.Fatal(errors.New(a))
				}
			},
		} {
			r := &recorder{}
			if assert(r); (r.fatal == broken.Error()) != (err != nil) || err == nil && r.fatal != "" {
				t.Errorf("%s of %v: reported %q", name, err, r.fatal)
			}
		}
	}
	for _, c := range []struct {
		err    error
		want   string
		passes bool
	}{{broken, "disk is full", true}, {broken, "denied", false}, {nil, "", false}} {
		r := &recorder{}
		Fail(r, c.want, "case", 7)("value", c.err)
		if (r.failed == "") != c.passes || !c.passes && !strings.HasPrefix(r.failed, "case 7\nfound the error ") {
			t.Errorf("%v, expected %q: reported %q", c.err, c.want, r.failed)
		}
	}
}
