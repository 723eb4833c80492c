package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/atomicfile"
	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/seq"
)

// TestForceSurvivesFailingCalls repeats "convert --force", and lets another fsync, link or rename fail
// each time. Afterwards the directory has the complete old data set or the complete new data set. The
// next conversion succeeds.
func TestForceSurvivesFailingCalls(t *testing.T) {
	from := t.TempDir()
	table := func(name string, rows int) string {
		path := filepath.Join(from, name)
		text := "text,label\n"
		for i := range rows {
			text += fmt.Sprintf("good %d,a\nbad %d,b\n", i, i)
		}
		writeText(t, path, text)
		return path
	}
	oldTable, newTable := table("old.csv", 20), table("new.csv", 40)
	convert := func(table, dir string) []string {
		return []string{"data", "convert", "--from", table, "--to", dir, "--text", "text", "--label", "label",
			"--split", "0.5,0.25,0.25", "--tokenizer", "byte", "--force", "--no-baselines"}
	}
	failed := 0
	for n, found := 1, true; found; n++ {
		dir := filepath.Join(t.TempDir(), "data")
		succeed(t, "", convert(oldTable, dir)...)
		calls, failedCall := 0, ""
		restore := atomicfile.Intercept(func(call, path string) error {
			if calls++; calls != n {
				return nil
			}
			failedCall = call + " " + filepath.Base(path)
			return fmt.Errorf("%s: injected", call)
		})
		status, _, message := program(strings.NewReader(""), convert(newTable, dir)...)
		restore()
		if found = failedCall != ""; !found {
			break
		}
		linked := strings.HasPrefix(failedCall, "link ") // the file is copied or renamed instead
		if (status == 0) != linked || !linked && !strings.Contains(message, "injected") {
			t.Errorf("%s: got status %d, message %q; want (status = 0) = %t, and injected in the message of a failure",
				failedCall, status, message, linked)
		}
		failed++
		d, err := seq.OpenDataset(dir)
		if err != nil {
			t.Errorf("%s: %v", failedCall, err)
			continue
		}
		rows := int64(0)
		for _, split := range d.Manifest.Splits {
			rows += split.Rows
		}
		if len(d.Manifest.Splits) != 3 || rows != 40 && rows != 80 {
			t.Errorf("%s: got %d rows in %d splits, want 40 rows (old data set) or 80 rows (new data set) in 3 splits",
				failedCall, rows, len(d.Manifest.Splits))
		}
		must.Check(t, d.Verify(), failedCall)
		succeed(t, "", convert(newTable, dir)...)
		must.Check(t, must.Get(seq.OpenDataset(dir))(t).Verify(), failedCall)
	}
	if failed < 12 {
		t.Errorf("%d calls failed, expected at least 12, for three splits and a manifest", failed)
	}
}

// TestForceKeepsForeignTokenizer checks that --force replaces the tokenizer.json of a data set, but
// not a tokenizer.json in a directory without a data set.
func TestForceKeepsForeignTokenizer(t *testing.T) {
	dir, to := t.TempDir(), t.TempDir()
	table := writeText(t, filepath.Join(dir, "x.csv"), "text,label\naba,x\nbab,y\nabb,x\nbba,y\n")
	tokenizer := func(name, vocab string) string {
		return writeText(t, filepath.Join(dir, name),
			`{"version":"1.0","model":{"type":"WordLevel","vocab":`+vocab+`,"unk_token":"u"}}`)
	}
	convert := func(file string) []string {
		return []string{"data", "convert", "--from", table, "--to", to, "--text", "text", "--label", "label",
			"--split", "0.5,0.25,0.25",
			"--tokenizer", "hf:" + file, "--force", "--no-baselines"}
	}
	first, second := tokenizer("first.json", `{"aba":0,"u":1}`), tokenizer("second.json", `{"u":0,"bab":1}`)
	existing := writeText(t, filepath.Join(to, "tokenizer.json"), "of another program")
	refuse(t, exitError, "tokenizer.json: found a different tokenizer that is not part of a data set", "",
		convert(first)...)
	equal(t, readText(t, existing), "of another program")
	must.Succeed(t, os.Remove(existing))
	exits(t, exitOK, "", convert(first)...)
	exits(t, exitOK, "", convert(second)...)
	equal(t, readText(t, existing), readText(t, second))
}
