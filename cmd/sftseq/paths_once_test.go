package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
)

// TestErrorsNamePathsOnce checks that an error about a missing or malformed file, or a file of the wrong
// kind, contains the path once and does not repeat its folder.
func TestErrorsNamePathsOnce(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	file := writeText(t, at("file"), "")
	rows := writeText(t, at("rows.csv"), "text\na\n")
	folder, broken, cut := at("folder"), at("broken"), at("cut")
	for _, name := range []string{folder, at("graphs.jsonl"), filepath.Join(broken, "config.json"), cut} {
		must.Succeed(t, os.MkdirAll(name, 0o777))
	}
	writeText(t, filepath.Join(cut, "config.json"), "{")
	data := tinyData(t)
	must.Succeed(t, os.Remove(filepath.Join(data, "val.arrow")))
	good, created := goldenPath("pre"), at("created")
	from := func(dir string) []string {
		return []string{"data", "convert", "--from", rows, "--to", created, "--text", "text",
			"--tokenizer", "from:" + dir}
	}
	for _, c := range []struct {
		path string // the wrong path, or its folder
		args []string
	}{
		{at("missing"), []string{"predict", "--model", at("missing")}},
		{file, []string{"eval", "--model", file, "--data", tinyData(t)}},
		{broken, []string{"embed", "--model", broken}},
		{cut, []string{"info", "--model", cut}},
		{folder, []string{"import", "pytorch", folder, "--output", created}},
		{folder, []string{"report", folder, "--out", created}},
		{cut, []string{"report", cut, "--out", created}},
		{broken, []string{"report", broken, "--out", created}},
		{data, []string{"eval", "--model", good, "--data", data}},
		{data, []string{"data", "info", data}},
		{data, []string{"train", "listops", "--data", data, "--out", created}},
		{file, []string{"train", "listops", "--data", tinyData(t), "--out", filepath.Join(file, "x")}},
		{file, from(file)},
		{folder, from(folder)},
		{cut, from(cut)},
		{broken, from(broken)},
		{at("graphs.jsonl"), []string{"data", "convert", "graph", "--from", at("graphs.jsonl"), "--to", created}},
		{file, []string{"serve", "--model", good, "--listen", "unix:" + file}},
		{file, []string{"serve", "--model", good, "--listen", "unix:" + filepath.Join(file, "x")}},
		{at("missing"), []string{"serve", "--model", good, "--listen", "unix:" + filepath.Join(at("missing"), "x")}},
	} {
		status, _, errs := program(nil, c.args...)
		lines := strings.Split(strings.TrimSpace(errs), "\n")
		line := lines[len(lines)-1]
		if n := strings.Count(line, c.path); status == exitOK || n != 1 {
			t.Errorf("%q: status %d, %q occurs %d times in %q, want an error with the path once", c.args, status, c.path, n, line)
		}
	}
}
