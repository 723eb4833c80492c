package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/files"
	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/sft"
)

// TestDataFiles collects the files of 30 packages, trains a linear model to predict their kinds and
// evaluates the model on the splits test and mislabelled.
func TestDataFiles(t *testing.T) {
	dir := t.TempDir()
	software, data, model := filepath.Join(dir, "software"), filepath.Join(dir, "data"), filepath.Join(dir, "model")
	for n := range 30 {
		folder := filepath.Join(software, fmt.Sprintf("p%c%c", 'a'+n/26, 'a'+n%26), "src")
		must.Check(t, os.MkdirAll(folder, 0o777))
		for i := range 8 {
			write := func(extension, format string) {
				writeText(t, filepath.Join(folder, fmt.Sprint(i, extension)), fmt.Sprintf(format, n, i))
			}
			write(".py", "import module_%d\nprint(%d)\n")
			write(".go", "package p%d\n\nvar x = %d\n")
			write(".sh", "GIF89a, not a script %d %d")
		}
	}
	args := []string{"files", "--from", software, "--to", data}
	out := mustRunData(t, args...)
	contains(t, out, "go             240 files of 30 packages", "python         240 files of 30 packages",
		"2 classes; left out of train, val and test: 240 files with contradicting content, 0 duplicates, 0 unreadable",
		"omitted kinds, with files and packages: shell 0/0 (240 contradict it)", "baselines of test: largest class")
	refuse(t, exitError, "(--force replaces it)", "", append([]string{"data"}, args...)...)
	contains(t, mustRunData(t, append(args, "--force", "--fragment", "24", "--no-baselines")...), " to 24 tokens")
	contains(t, mustRunData(t, append(args, "--force", "--no-baselines")...), "240 files")
	exits(t, exitOK, "", "train", "custom", "--members", "linear", "--data", data, "--out", model)
	contains(t, succeed(t, "", "eval", "--model", model, "--data", data), "accuracy  100.00%")

	checkFilesCommand(t, model, software)
	layers := filepath.Join(dir, "layers")
	exits(t, exitOK, "", "train", "files", "--data", data, "--steps", "40", "--device", "cpu", "--out", layers)
	contains(t, succeed(t, "", "files", "--model", layers, filepath.Join(software, "paa", "src", "0.py")), ": python ")
	checkFilesWindow(t, data)
	refuse(t, exitUsage, "--data is missing: expected a data set directory: create one, for example with\n"+
		"  sftseq data files --to data/files\n", "", "train", "files", "--out", filepath.Join(dir, "no-run"))
	refuse(t, exitError, `expected data of the task files, classification with the tokenizer byte; found `, "", "train",
		"files", "--data", smallData(t), "--out", filepath.Join(dir, "no-run"))

	for n := range 30 { // give four .py files of each package contents that contradict the extension
		folder := filepath.Join(software, fmt.Sprintf("p%c%c", 'a'+n/26, 'a'+n%26), "src")
		for i := range 4 {
			writeText(t, filepath.Join(folder, fmt.Sprintf("%d.py", i)),
				fmt.Sprintf("GIF89a package p%d var x = %d\n", n, i))
		}
	}
	out = mustRunData(t, append(args, "--force", "--min-files", "100", "--no-baselines")...)
	contains(t, out, "left out of train, val and test: 360 files with contradicting content", "mislabelled.arrow: ")
	out = succeed(t, "", "eval", "--model", model, "--data", data, "--split", "mislabelled")
	contains(t, out, "accuracy   0.00%")

	absent := filepath.Join(dir, "absent")
	refuse(t, exitError, "--from: "+absent+": no such file", "", "data", "files", "--from", absent, "--to",
		filepath.Join(dir, "to"))
	refuse(t, exitUsage, "--to", "", "data", "files", "--from", software)
	refuse(t, exitUsage, "--per-kind 0: expected 1 or more", "", "data", "files", "--from", software, "--to", absent,
		"--per-kind", "0")
	refuse(t, exitUsage, "--per-kind 199: expected at least --min-files, 200, because", "", "data", "files", "--from",
		software, "--to", absent, "--per-kind", "199")
	refuse(t, exitError, "expected at least 2 kinds with files in every split (--min-files 1000, --min-packages 20)", "",
		"data", "files", "--from", software, "--to", absent, "--min-files", "1000")
	if _, err := os.Stat(absent); err == nil {
		t.Errorf("a failed command leaves the folder %s", absent)
	}
	if left := must.Get(filepath.Glob(filepath.Join(data, "*.tmp*")))(t); left != nil {
		t.Errorf("temporary files are left: %s", strings.Join(left, ", "))
	}
}

// checkFilesCommand checks the output of "sftseq files" with a model of Go and Python files.
func checkFilesCommand(t *testing.T, model, software string) {
	dir := t.TempDir()
	wrong := writeText(t, filepath.Join(dir, "wrong.py"), "package p1\n\nvar x = 0\n")
	writeText(t, filepath.Join(dir, "empty.go"), "")
	writeText(t, filepath.Join(dir, "short.go"), "package p")
	must.Check(t, os.Symlink(wrong, filepath.Join(dir, "link.py")))
	must.Check(t, os.Symlink(dir, filepath.Join(dir, "folder")))
	out := succeed(t, "", "files", "--model", model, filepath.Join(software, "paa", "src", "0.py"),
		filepath.Join(dir, "folder"))
	lines := strings.Split(strings.TrimSpace(out), "\n")
	for i, want := range []string{"/paa/src/0.py: python ", "/folder/empty.go: empty",
		"/folder/short.go: too short (9 bytes)", "/folder/wrong.py: go "} {
		if i >= len(lines) || !strings.Contains(lines[i], want) {
			t.Fatalf("line %d: want %q in\n%s", i, want, out)
		}
	}
	if !strings.HasSuffix(out, "% (named python)\n") || len(lines) != 4 {
		t.Errorf("a wrong name is not marked, or a link was followed:\n%s", out)
	}
	contains(t, succeed(t, "", "files", "--model", model, "--threshold", "1", wrong), "/wrong.py: unknown (go ")
	notContains(t, succeed(t, "", "files", "--model", model, "--json", filepath.Join(dir, "short.go")), "nearest")
	for _, path := range []string{wrong, filepath.Join(dir, "short.go")} { // unknown, or too short
		notContains(t, succeed(t, "", "files", "--model", model, "--threshold", "1", "--json", path), `"kind"`, "named")
	}
	seen := map[string]int{} // lines per path; the files fill several batches
	for line := range strings.Lines(succeed(t, "", "files", "--model", model, software)) {
		path, _, _ := strings.Cut(line, ": ")
		if seen[path]++; seen[path] > 1 {
			t.Errorf("%s is listed twice", path)
		}
		want := map[string]string{".go": "go ", ".py": "python ", ".sh": ""}[filepath.Ext(path)]
		if !strings.Contains(line, ": "+want) {
			t.Errorf("got %s, want the kind %q", line, want)
		}
	}
	if len(seen) != 720 {
		t.Errorf("got lines for %d files, want 720", len(seen))
	}

	out = succeed(t, "", "files", "--model", model, "--json", "--evidence", wrong)
	var r fileResult
	must.Check(t, json.Unmarshal([]byte(out), &r))
	if r.Path != wrong || r.Size != 22 || r.Kind != "go" || r.Named != "python" || r.Probability < 0.5 ||
		r.Evidence == nil {
		t.Errorf("got %s, want path %s, size 22, kind go, named python, a probability of at least 0.5, and evidence",
			out, wrong)
	}
	text := readText(t, wrong)
	for i, e := range r.Evidence {
		ordered := i == 0 || e.Weight <= r.Evidence[i-1].Weight
		if e.Start < 0 || e.End <= e.Start || e.End > r.Size || e.Weight <= 0 || !ordered {
			t.Errorf("unexpected evidence: %+v", e)
		}
	}
	shown := succeed(t, "", "files", "--model", model, "--evidence", wrong)
	first := r.Evidence[0]
	contains(t, shown, fmt.Sprintf("bytes %d to %d  %.3g  %q\n", first.Start, first.End-1, first.Weight,
		text[first.Start:first.End]))

	odd := writeText(t, filepath.Join(dir, "a\nb.png"), "package p1\n\nvar x = 0\n")
	contains(t, succeed(t, "", "files", "--model", model, odd), strconv.Quote(odd)+": go ",
		" (named png, not a kind of the model)\n")

	absent := filepath.Join(dir, "absent")
	out, errs := exits(t, exitError, "", "files", "--model", model, absent, wrong)
	contains(t, out, "/wrong.py: go ")
	contains(t, errs, absent+": no such file or directory", "1 of 2 files or folders could not be read")
	_, errs = exits(t, exitError, "", "files", "--model", model, os.DevNull)
	contains(t, errs, os.DevNull+": expected a regular file, found ")
	refuse(t, exitUsage, "expected the paths of files or folders", "", "files", "--model", model)
	refuse(t, exitUsage, "--threshold 2: expected a probability from 0 to 1", "", "files", "--model", model,
		"--threshold", "2", wrong)
	refuse(t, exitError, "expected a model trained on data of sftseq data files", "", "files", "--model",
		goldenPath("pre"), wrong)
}

// checkFilesWindow checks that "sftseq files" cuts samples to the input window of a model, as predict does.
func checkFilesWindow(t *testing.T, data string) {
	dir := t.TempDir()
	model := filepath.Join(dir, "window")
	exits(t, exitOK, "", "train", "files", "--data", data, "--steps", "20", "--device", "cpu", "--input-window",
		"12:tail=4", "--out", model)
	text := "import module_1\nprint(1)\n"
	name := writeText(t, filepath.Join(dir, "a.py"), text)
	var r fileResult
	must.Check(t, json.Unmarshal([]byte(succeed(t, "", "files", "--json", "--threshold", "0", "--model", model,
		name)), &r))
	line := string(must.Get(json.Marshal(map[string]string{"text": text}))(t))
	want := replyLines(t, succeed(t, line, "predict", "--model", model))[0]
	if p := want.Probabilities[slices.Index([]string{"go", "python"}, r.Nearest)]; p != float32(r.Probability) {
		t.Errorf("files has the probability %v, predict %v", r.Probability, p)
	}
}

// TestOtherFiles checks that the class other is reported as unknown even at threshold 0.
func TestOtherFiles(t *testing.T) {
	r := fileResult{Path: "a.go", Size: 100}
	r.predict(&sampledFile{path: "a.go", size: 100}, &sft.Output{Logits: []float32{1, 5}},
		[]string{"go", files.Other}, 0)
	if r.Kind != "" || r.Nearest != files.Other || r.Named != "" || !(r.Probability > 0.9) {
		t.Errorf("got %+v, want no Kind, Nearest %s, no Named, and Probability > 0.9", r, files.Other)
	}
}

// TestEvidence checks that the evidence of a long file has offsets in the file, and that no evidence extends
// beyond the head, middle or tail of the sample.
func TestEvidence(t *testing.T) {
	f := &sampledFile{size: 10_000, bytes: []byte(strings.Repeat("x", files.SampleBytes))}
	got := evidenceOf(f, &sft.LinearExplanation{NGrams: []sft.NGramExplanation{
		{Places: [][2]int32{{files.HeadBytes - 2, files.HeadBytes + 3}}, Contribution: 1},
		{Places: [][2]int32{{files.SampleBytes - 4, files.SampleBytes}}, Contribution: 3},
		{Places: [][2]int32{{files.HeadBytes, files.HeadBytes + 1}}, Contribution: 2},
		{Places: [][2]int32{{files.SampleBytes - 2, files.SampleBytes}}, Contribution: 0.5}, // within another
		{Places: [][2]int32{{0, 4}}, Contribution: -5}}})
	middle := int64(10_000-files.MiddleBytes) / 2
	want := [][2]int64{{9996, 10_000}, {middle, middle + 1}, {files.HeadBytes - 2, files.HeadBytes}}
	if len(got) != len(want) {
		t.Fatalf("got %+v, want %v", got, want)
	}
	for i, e := range got {
		if [2]int64{e.Start, e.End} != want[i] || len(e.bytes) != int(e.End-e.Start) {
			t.Errorf("got %+v, want %v", e, want[i])
		}
	}
}
