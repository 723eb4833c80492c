package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
)

// TestFarLongerRows checks that predict and embed warn of inputs that are more than twice as long as the
// longest training row.
func TestFarLongerRows(t *testing.T) {
	dir, rows := t.TempDir(), ""
	for i := range 40 {
		rows += fmt.Sprintf("%s %02d,%s\n", strings.Repeat("a", 7), i, []string{"x", "y"}[i%2])
	}
	data, run := tableData(t, "t.csv", "text,label\n"+rows, "--text", "text", "--label", "label", "--tokenizer", "byte",
		"--split", "0.6,0.2,0.2"), filepath.Join(dir, "run")
	runCustom(t, data, run, "--steps", "1", "--device", "cpu")
	long := writeText(t, filepath.Join(dir, "long.csv"), "text\n"+strings.Repeat("a", 20)+"\n"+strings.Repeat("b",
		21)+"\n"+strings.Repeat("c", 50)+"\n")
	const want = "warning: inputs more than 2 times as long as the longest training row (10 tokens): 2 (predictions " +
		"for such lengths are unreliable; the longest input has 50 tokens)\n"
	for _, command := range []string{"predict", "embed"} {
		_, output := exits(t, exitOK, "", command, "--model", run, "--device", "cpu", "--input", long, "--text", "text")
		contains(t, output, want)
		_, output = exits(t, exitOK, `{"text":"`+strings.Repeat("a", 21)+`"}`+"\n"+`{"text":"`+strings.Repeat("b",
			50)+`"}`+"\n", command, "--model", run, "--device", "cpu")
		contains(t, output, want)
	}
	_, output := exits(t, exitOK, `{"text":"`+strings.Repeat("a", 20)+`"}`+"\n", "predict",
		"--model", run, "--device", "cpu")
	notContains(t, output, "warning")
}

// TestUnlikeInputs checks that predict warns of images that differ in size from the training images, and of texts
// whose words are nearly all unknown.
func TestUnlikeInputs(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	dir := t.TempDir()
	data, run := filepath.Join(dir, "data"), filepath.Join(dir, "run")
	mustRunData(t, "generate", "pathfinder", "--out", data, "--train", "4", "--val", "2", "--test", "0", "--no-baselines")
	done(t, "", "train", "pathfinder", "--data", data, "--steps", "1", "--batch", "2", "--hidden", "8", "--layers", "1",
		"--k", "4", "--out", run)
	image := func(pixels int) string { return fmt.Sprintf(`{"tokens":[%s0]}`+"\n", strings.Repeat("0,", pixels-1)) }
	for model, inputs := range map[string]struct{ bad, good, warning string }{
		run: {image(1023) + image(1024) + image(1025), image(1024),
			"the 1024 pixels of the training images: 2 "},
		"builtin:pathfinder": {`{"text":"a film"}`, image(1024), "the 1024 pixels of the training images: 1 "},
		"builtin:listops": {`{"text":"a film"}` + "\n" + `{"text":"[MAX a b c ]"}`, `{"text":"[MAX 2 9 ]"}`,
			"more than 90% unknown words: 1 "},
	} {
		_, output := exits(t, exitOK, inputs.bad, "predict", "--model", model, "--device", "cpu")
		contains(t, output, inputs.warning)
		_, output = exits(t, exitOK, inputs.good, "predict", "--model", model, "--device", "cpu")
		notContains(t, output, "warning")
	}
}

// TestReportOtherData checks that report's error about absent or unsuitable --data names the data of the
// run.
func TestReportOtherData(t *testing.T) {
	dir := t.TempDir()
	text := "text,label\n"
	for i := range 40 {
		text += fmt.Sprintf("a b %02d,%s\n", i, []string{"x", "y"}[i%2])
	}
	data, run := tableData(t, "t.csv", text, "--text", "text", "--label", "label", "--tokenizer", "byte", "--split",
		"0.6,0.2,0.2"), filepath.Join(dir, "run")
	other := tableData(t, "o.csv", text, "--text", "text", "--label", "label", "--tokenizer", "words:9",
		"--split", "0.6,0.2,0.2")
	runCustom(t, data, run, "--steps", "1", "--device", "cpu")
	for _, wrong := range []string{filepath.Join(dir, "absent"), other} {
		_, output := exits(t, exitError, "", "report", run, "--data", wrong, "--out",
			filepath.Join(dir, "r.html"), "--device", "cpu")
		contains(t, output, "; "+run+" was trained on --data "+data)
	}
}

// TestPredictFolderOfClouds checks that the error for a folder of point-cloud files names the
// command that converts them.
func TestPredictFolderOfClouds(t *testing.T) {
	dir := t.TempDir()
	rows := ""
	for i := range 40 {
		rows += fmt.Sprintf(`{"p":[[%d,0,1],[1,%d,0]],"c":"%s"}`+"\n", i, i, []string{"x", "y"}[i%2])
	}
	data, run := tableData(t, "t.jsonl", rows, "--features", "p", "--label", "c", "--split", "0.6,0.2,0.2"),
		filepath.Join(dir, "run")
	runCustom(t, data, run, "--steps", "1", "--device", "cpu")
	folder := filepath.Join(dir, "new")
	must.Succeed(t, os.MkdirAll(filepath.Join(folder, "a"), 0o777))
	writeText(t, filepath.Join(folder, "a", "1.xyz"), "0 0 1\n1 0 0\n")
	_, output := exits(t, exitUsage, "", "predict", "--model", run, "--input", folder, "--device", "cpu")
	contains(t, output, "sftseq data convert cloud --from "+folder+
		" --to DIR --val-part 0 --test-part 0 --no-baselines, then pass --input DIR/train.arrow")
}

// TestOutlierWarning checks that predict warns of series whose numbers are more than 10 standard
// deviations from the training mean.
func TestOutlierWarning(t *testing.T) {
	rows := ""
	for i := range 40 {
		rows += fmt.Sprintf(`{"v":[%d,2,3],"c":"%s"}`+"\n", i%5, []string{"x", "y"}[i%2])
	}
	rows += `{"v":[7,2,3],"c":"x"}` + "\n"
	run := filepath.Join(t.TempDir(), "run")
	data := tableData(t, "t.jsonl",
		strings.ReplaceAll(rows, "}\n", `,"s":"train"}`+"\n")+`{"v":[1,2,3],"c":"x","s":"val"}`+"\n"+
			`{"v":[3,2,3],"c":"y","s":"val"}`+"\n", "--series", "v", "--label", "c", "--split-column", "s")
	runCustom(t, data, run, "--steps", "1", "--device", "cpu")
	_, output := exits(t, exitOK, `{"features":[1000,2000,3000]}`+"\n"+
		`{"features":[1,9,3]}`+"\n"+`{"features":[-1000]}`+
		"\n", "predict", "--model", run, "--device", "cpu")
	contains(t, output, "warning: inputs with numbers that are on average (root mean square) more than 10 standard "+
		"deviations from the training mean: 2 ")
	_, output = exits(t, exitOK, `{"features":[1,9,3]}`+"\n", "predict", "--model", run, "--device", "cpu")
	notContains(t, output, "warning")
}
