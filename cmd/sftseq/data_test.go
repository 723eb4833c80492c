package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sftseq/sftseq/internal/metrics"
	"github.com/sftseq/sftseq/internal/must"
)

// mustRunData runs "sftseq data args…" and returns its standard output.
func mustRunData(t *testing.T, args ...string) string {
	t.Helper()
	return printed(t, "", append([]string{"data"}, args...)...)
}

// generated generates a small ListOps data set, with additional flags of data generate, and returns
// its directory.
func generated(t *testing.T, flags ...string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "set")
	args := []string{"generate", "listops", "--out", dir, "--train", "40", "--val", "20", "--test", "10", "--seed", "4",
		"--min-length", "5", "--max-length", "40"}
	mustRunData(t, append(args, flags...)...)
	return dir
}

// tinyData generates a ListOps data set for runs of a few steps and returns its directory.
func tinyData(t *testing.T) string {
	t.Helper()
	return generated(t, "--train", "20", "--val", "4", "--test", "4", "--seed", "0", "--min-length",
		"10", "--max-length", "30")
}

func TestDataGenerateAndInfo(t *testing.T) {
	dir := generated(t)
	var file struct {
		Rows    int64
		Schema  struct{ Columns []struct{ Name, Type string } }
		Lengths map[string]float64
		Labels  map[string]int64
		Example struct{ Text, Label string }
	}
	must.Succeed(t, json.Unmarshal([]byte(mustRunData(t, "info", "--json", filepath.Join(dir, "val.arrow"))), &file))
	var labelled int64
	for _, rows := range file.Labels {
		labelled += rows
	}
	if file.Rows != 20 || labelled != 20 || !strings.HasPrefix(file.Example.Text, "[") ||
		file.Schema.Columns[0].Name != "tokens" {
		t.Errorf("got %+v, want 20 labelled rows, an expression as example and the column tokens first", file)
	}
	for _, key := range []string{"min", "p25", "p50", "p75", "p95", "max", "mean"} {
		if v := file.Lengths[key]; v <= 5 || v >= 40 {
			t.Errorf("lengths.%s is %v, want a number between 5 and 40", key, v)
		}
	}
	var set struct {
		Rows   int64
		Splits map[string]struct{ Rows int64 }
	}
	must.Succeed(t, json.Unmarshal([]byte(mustRunData(t, "info", "--json", "--verify", dir)), &set))
	if set.Rows != 70 || set.Splits["train"].Rows != 40 {
		t.Errorf("got data set %+v, want 70 rows, 40 of them in train", set)
	}
	contains(t, mustRunData(t, "info", dir), "tokens: list<item: uint8", "rows        40",
		"vocabulary  17, pad 0", "first row   label")
}

func TestDataGenerateRefuses(t *testing.T) {
	dir := generated(t)
	refuse(t, exitError, "--force replaces it", "", "data", "generate", "listops", "--out", dir)
	mustRunData(t, "generate", "listops", "--out", dir, "--train", "3", "--val", "0", "--test", "0",
		"--max-length", "600", "--force")
	mustRunData(t, "generate", "listops", "--out", dir, "--train", "3", "--val", "0", "--test", "0",
		"--min-length", "0", "--force")
	for _, args := range [][]string{
		{"generate", "listops"},
		{"generate", "listops", "--out", dir, "extra"},
		{"generate", "listops", "--out", dir, "--train", "-1", "--force"},
		{"generate", "listops", "--out", filepath.Join("/dev/null", "x")},
		{"convert", "listops", "--from", "/none", "--to", dir},
		{"convert", "listops", "--from", dir, "--to", dir, "--split", "dev"},
		{"info"}, {"info", "/none"}, {"info", "--verify", filepath.Join(dir, "train.arrow")}, {"info", t.TempDir()},
	} {
		failing(t, "", append([]string{"data"}, args...)...)
	}
}

func TestDataConvert(t *testing.T) {
	from, to := filepath.Join(t.TempDir(), "basic_train.tsv"), t.TempDir()
	must.Succeed(t, os.WriteFile(from, []byte("Source\tTarget\n( ( [MAX 2 ) ] )\t2\n"), 0o666))
	out := mustRunData(t, "convert", "listops", "--from", from, "--to", to)
	equal(t, out, filepath.Join(to, "test.arrow")+": 1 row of 3 tokens\n")
	mustRunData(t, "convert", "listops", "--from", from, "--to", to, "--split", "val")
	refuse(t, exitError, "split test: a complete data set exists already (--force", "", "data", "convert", "listops",
		"--from", from, "--to", to)
	mustRunData(t, "convert", "listops", "--from", from, "--to", to, "--force")
	contains(t, mustRunData(t, "info", to), "val.arrow", "test.arrow")
}

func TestProgressLines(t *testing.T) {
	var out bytes.Buffer
	p := &progress{out: &out, description: "counting", unit: "sheep", total: 100,
		start: time.Now().Add(-10 * time.Second), silent: true}
	p.Add(10)
	p.Add(10) // too early for another line
	p.Finish()
	want := "counting: 10 of 100 sheep (10%), 1 sheep/s, 1m30s left\ncounting: 20 sheep in 10s\n"
	equal(t, out.String(), want)
	for _, c := range []struct {
		unit        string
		done, total int64
		took        time.Duration
		want        string
	}{
		{"sheep", 5, 0, 10 * time.Second, "5 sheep, 0.5 sheep/s"},
		{"rows", 4000, 96000, 2 * time.Second, "4000 of 96000 rows (4%), 2.0k rows/s, 46s left"},
		{"rows", 500, 1000, 10 * time.Second, "500 of 1000 rows (50%), 50 rows/s, 10s left"},
		{"rows", 30e6, 60e6, 10 * time.Second, "30000000 of 60000000 rows (50%), 3.0M rows/s, 10s left"},
		{"bytes", 12 << 20, 48 << 20, 4 * time.Second, "12.0 MiB of 48.0 MiB (25%), 3.0 MiB/s, 12s left"},
		{"bytes", 300, 0, time.Second, "0.3 KiB, 0.3 KiB/s"},
		{"bytes", 1 << 20, 1 << 30, 10 * time.Second, "1.0 MiB of 1.0 GiB (0%), 102.4 KiB/s, 2h51m left"},
		{"bytes", 1 << 20, 1 << 40, 10 * time.Second, "1.0 MiB of 1.0 TiB (0%), 102.4 KiB/s, 121 days left"},
		{"bytes", 12, 10, time.Second, "0.0 KiB of 0.0 KiB (100%), 0.0 KiB/s, 0s left"},
	} {
		now := time.Now()
		p = &progress{description: "counting", unit: c.unit, done: c.done, total: c.total, start: now.Add(-c.took)}
		equal(t, p.line(now), "counting: "+c.want, c.want)
	}
}

// TestPhases checks that a phase ends when the next phase starts, that the duration of a phase
// excludes the time before its start, and that phases after Finish print nothing.
func TestPhases(t *testing.T) {
	new(phases).Finish() // without a phase
	var p phases
	var out bytes.Buffer
	first := p.phase(100, "reading", "sheep")
	first.out, first.bar, first.silent, first.start = &out, nil, false, time.Now().Add(-10*time.Second)
	p.phase(100, "reading", "sheep").Add(30)
	second := p.phase(50, "counting", "sheep")
	equal(t, out.String(), "reading: 30 sheep in 10s\n")
	if second == first || second.done != 0 || second.total != 50 || time.Since(second.start) > 5*time.Second {
		t.Errorf("got phase %+v, want a new phase with 0 of 50 done that has just started", second)
	}
	out.Reset()
	second.out, second.bar, second.silent = &out, nil, false
	p.Finish()
	p.phase(10, "shearing", "sheep").Add(10)
	p.phase(50, "counting", "sheep").Add(10)
	if want := "counting: 0 sheep in 0s\n"; out.String() != want || p.current != second || second.done != 0 {
		t.Errorf("got %q, want %q; current phase %+v", out.String(), want, p.current)
	}
}

// TestDataHead checks that predict reads the output of data head.
func TestDataHead(t *testing.T) {
	dir := generated(t)
	text, tokens := mustRunData(t, "head", "-n", "3", "--split", "test", dir),
		mustRunData(t, "head", "-n", "3", "--tokens", filepath.Join(dir, "test.arrow"))
	if strings.Count(text, "\n") != 3 || strings.Count(tokens, "\n") != 3 {
		t.Fatalf("want 3 rows as text and as tokens:\n%s\n%s", text, tokens)
	}
	a := printed(t, text, "predict", "--model", goldenPath("pre"))
	contains(t, a, `"logits"`)
	equal(t, printed(t, tokens, "predict", "--model", goldenPath("pre")), a)
	occurs(t, mustRunData(t, "head", "--rows", "1000", dir), "\n", 40)
	refuse(t, exitError, `the data set has no split "no", only train, val, test`, "", "data",
		"head", "--split", "no", dir)
}

func TestDataStats(t *testing.T) {
	dir := generated(t)
	figure := filepath.Join(t.TempDir(), "lengths.png")
	out := mustRunData(t, "stats", "--plot", figure, dir)
	contains(t, out, "rows                      40              20              10\n", "label 0")
	hasPrefix(t, readText(t, figure), "\x89PNG")
	all := decode[[]metrics.Stats](t, mustRunData(t, "stats", "--json", dir))
	for _, s := range all {
		rows, last := int64(0), int64(0)
		for _, b := range s.Histogram {
			if b.From < last || b.To <= b.From {
				t.Errorf("%s: want bins in increasing order without overlaps: %v", s.Name, s.Histogram)
			}
			rows, last = rows+b.Rows, b.To
		}
		if rows != s.Rows || s.Histogram[0].From > s.Lengths.Min || last <= s.Lengths.Max {
			t.Errorf("%s: the histogram does not cover all rows: %+v", s.Name, s)
		}
	}
}
