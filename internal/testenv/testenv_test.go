package testenv

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestMissing checks that a missing requirement skips a test and lists it in a file. With CI=true,
// it must fail the test unless Unavailable reports it.
func TestMissing(t *testing.T) {
	if os.Getenv("SFTSEQ_MISSING") != "" {
		t.Run("a", func(t *testing.T) { NeedPrograms(t, "sh", "no-such-program") })
		t.Run("b", func(t *testing.T) { Unavailable(t, "a moon", errors.New("none here")) })
		return
	}
	for _, c := range []struct{ ci, failed, skipped, list string }{
		{"", "", "a b", "no-such-program\tinternal/testenv\tTestMissing/a\na moon\tinternal/testenv\tTestMissing/b\n"},
		{"true", "a", "b", "a moon\tinternal/testenv\tTestMissing/b\n"},
	} {
		list := filepath.Join(t.TempDir(), "list")
		child := exec.Command(os.Args[0], "-test.run=^TestMissing$", "-test.v")
		child.Env = append(os.Environ(), "SFTSEQ_MISSING=1", "SFTSEQ_LEFT_OUT="+list, "CI="+c.ci)
		out, err := child.CombinedOutput()
		if failed := c.failed != ""; failed != (err != nil) {
			t.Errorf("CI=%q: got error %v, want failed tests: %v", c.ci, err, failed)
		}
		for _, name := range strings.Fields(c.failed) {
			if !strings.Contains(string(out), "--- FAIL: TestMissing/"+name) {
				t.Errorf("CI=%q: %s did not fail\n%s", c.ci, name, out)
			}
		}
		for _, name := range strings.Fields(c.skipped) {
			if !strings.Contains(string(out), "--- SKIP: TestMissing/"+name) {
				t.Errorf("CI=%q: %s was not skipped\n%s", c.ci, name, out)
			}
		}
		if got, err := os.ReadFile(list); err != nil || string(got) != c.list {
			t.Errorf("CI=%q: got list %q, error %v, want %q", c.ci, got, err, c.list)
		}
	}
}

// TestChoices checks that -short and the race detector skip tests even with CI=true.
func TestChoices(t *testing.T) {
	t.Setenv("CI", "true")
	long := t.Run("long", func(t *testing.T) {
		Long(t, "it takes minutes")
		if testing.Short() {
			t.Error("Long did not skip the test with -short")
		}
	})
	race := t.Run("race", func(t *testing.T) {
		NoRace(t, "one thread")
		if Race {
			t.Error("NoRace did not skip the test under the race detector")
		}
	})
	if !long || !race {
		t.Errorf("got passed or skipped tests: long %v, race %v; want true for both", long, race)
	}
}
