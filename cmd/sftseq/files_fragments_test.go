package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
)

// TestFileFragments checks that a file is split into fragments in the order of their offsets, the last one shorter,
// and that a fragment has the same prediction and evidence as a file with its bytes.
func TestFileFragments(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	dir := t.TempDir()
	text := strings.Repeat(readText(t, "main.go")[:1000], 300) + "package x"
	whole := writeText(t, filepath.Join(dir, "whole.py"), text)
	const size = 1000
	args := []string{"files", "--model", "builtin:files", "--json", "--threshold", "0"}
	got := decodeLines[fileResult](t, succeed(t, "", append(args, "--fragments", fmt.Sprint(size), whole)...))
	if len(got) != 301 {
		t.Fatalf("%d fragments, want 301", len(got))
	}
	for i, r := range got {
		if r.Path != whole || r.Size != int64(len(text)) || r.Fragment == nil || r.Fragment.Start != int64(i*size) ||
			r.Fragment.End != min(int64(len(text)), int64(i+1)*size) || r.Named != "" {
			t.Fatalf("fragment %d: got range %+v in %+v, want the next %d bytes or the rest", i, r.Fragment, r, size)
		}
	}
	last := len(got) - 1
	if r := got[last]; r.Nearest != "" || r.Kind != "" {
		t.Errorf("the last fragment, of 9 bytes, has the prediction %+v", r)
	}
	part := writeText(t, filepath.Join(dir, "part"), text[299*size:300*size])
	alone := decodeLines[fileResult](t, succeed(t, "", append(args, "--evidence", part)...))[0]
	all := decodeLines[fileResult](t, succeed(t, "", append(args, "--evidence", "--fragments", "1000", whole)...))
	found := all[299]
	if found.Nearest != alone.Nearest || found.Probability != alone.Probability ||
		len(found.Evidence) != len(alone.Evidence) || len(alone.Evidence) == 0 {
		t.Errorf("got %+v for the fragment, want the prediction and evidence %+v of a file", found, alone)
	}
	for i, e := range alone.Evidence {
		if f := found.Evidence[i]; f.Start != e.Start+299*size || f.End != e.End+299*size || f.Weight != e.Weight {
			t.Errorf("got evidence %+v of the fragment, want %+v of the file with shifted offsets", f, e)
		}
	}
	empty := writeText(t, filepath.Join(dir, "empty"), "")
	contains(t, succeed(t, "", "files", "--fragments", "1000", whole, empty), whole+":0-999: go ",
		whole+":300000-300008: too short (9 bytes)\n", empty+": empty\n")
	for _, n := range []string{"15", "-1", "65537"} {
		refuse(t, exitUsage, "--fragments "+n+": expected 16 to 65536 bytes", "", "files", "--fragments", n, whole)
	}
	must.Check(t, os.Remove(part))
	failing(t, "", "files", "--fragments", "1000", part)
}
