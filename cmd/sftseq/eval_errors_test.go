package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// TestEvalErrors checks that --errors writes exactly the misclassified rows, with their ids and with the
// labels and probabilities that predict prints.
func TestEvalErrors(t *testing.T) {
	model, dir := moodModel(t), t.TempDir()
	text := "key,t,mood\n"
	mood := map[string]string{}
	for i := range 40 {
		key := fmt.Sprintf("k%d", i)
		mood[key] = []string{"good", "bad"}[i%2]
		text += fmt.Sprintf("%s,some text %d,%s\n", key, i, mood[key])
	}
	from, set := writeText(t, filepath.Join(dir, "a.csv"), text), filepath.Join(dir, "set")
	mustRunData(t, "convert", "--from", from, "--to", set, "--text", "t", "--label", "mood", "--labels", "bad,good",
		"--id", "key", "--split", "0,0,1")
	scored := filepath.Join(dir, "scored.csv")
	succeed(t, "", "predict", "--model", model, "--input", from, "--text", "t", "--id", "key", "--output", scored)
	for _, format := range []string{"csv", "jsonl", "parquet"} {
		to := filepath.Join(dir, "wrong."+format)
		r := decode[struct{ Confusion [][]int }](t, succeed(t, "", "eval", "--model", model, "--data", set,
			"--json", "--errors", to))
		wrong := map[string]string{}
		for _, row := range tableText(t, to, []string{"id", "label", "predicted", "probability_good", "row"}) {
			f := strings.Split(strings.Trim(row, `["]`), `" "`)
			wrong[f[0]] = fmt.Sprint(f[1:4])
			equal(t, "k"+f[4], f[0], format)
		}
		if len(wrong) != r.Confusion[0][1]+r.Confusion[1][0] || len(wrong) == 0 || len(wrong) == 40 {
			t.Errorf("%s: %d rows do not match the confusion matrix %v", format, len(wrong), r.Confusion)
		}
		for _, row := range csvRows(t, scored) {
			id, want := row["id"], ""
			if mood[id] != row["label"] {
				want = fmt.Sprint([]string{mood[id], row["label"], row["probability_good"]})
			}
			equal(t, wrong[id], want, format, id)
		}
	}
	// Without ids, the first column is the row number.
	in, _ := sequences(t, 30)
	to := filepath.Join(dir, "numbers.csv")
	succeed(t, "", "eval", "--model", goldenPath("pre"), "--data", in, "--errors", to)
	if header, _, _ := strings.Cut(readText(t, to), ","); header != "row" {
		t.Errorf("the first column is %s, want row", header)
	}
	if rows := csvRows(t, to); len(rows) == 0 || rows[0]["row"] == "" || rows[0]["label"] == rows[0]["predicted"] {
		t.Errorf("got %v, want misclassified rows with row numbers", rows)
	}
	refuse(t, exitUsage, "--errors \"-\": standard output has the report", "", "eval", "--model", goldenPath("pre"),
		"--data", in, "--errors", "-")
	refuse(t, exitUsage, "--errors \"x.txt\": expected a file name that ends in", "", "eval", "--model",
		goldenPath("pre"), "--data", in, "--errors", "x.txt")
	refuse(t, exitError, "--errors would replace --data", "", "eval", "--model", goldenPath("pre"),
		"--data", in, "--errors", in)
	before := readText(t, to)
	cut := writeText(t, filepath.Join(dir, "cut.arrow"), readText(t, in)[:len(readText(t, in))/2])
	refuse(t, exitError, cut, "", "eval", "--model", goldenPath("pre"), "--data", cut, "--errors", to)
	equal(t, readText(t, to), before)
	if left, err := filepath.Glob(filepath.Join(dir, ".*")); err != nil || len(left) > 0 {
		t.Errorf("temporary files %v are left", left)
	}
}

// TestEvalLabels checks that eval refuses rows whose labels differ from the model's. The error lists both
// sets of labels. If the rows have some of the model's labels, it also names the next step. The test also
// checks that a run cannot be resumed on other rows, that embed refuses an unsuitable output format,
// and that data convert refuses text in an .arrow file.
func TestEvalLabels(t *testing.T) {
	set := func(labels ...string) string {
		text := "t,mood\n"
		for i := range 40 {
			text += fmt.Sprintf("some text %d,%s\n", i, labels[i%len(labels)])
		}
		return tableData(t, "a.csv", text, "--text", "t", "--label", "mood", "--tokenizer", "byte")
	}
	data, model := set("bad", "good"), filepath.Join(t.TempDir(), "model")
	runCustom(t, data, model, "--steps", "1", "--hidden", "8", "--layers", "1", "--device", "cpu")
	refuse(t, exitError, "expected the labels bad, good; found bad, fair, good (data convert --labels "+
		`"bad,good" leaves out rows with other labels)`, "", "eval", "--model", model, "--data", set("bad", "good", "fair"))
	other := set("high", "low")
	refuse(t, exitError, "expected the labels bad, good; found high, low", "", "eval", "--model", model, "--data", other)
	refuse(t, exitError, model+" was trained on "+data+", found other rows in "+other+": resume with --data "+data+
		", or start a new run with another "+
		"--out", "", "train", "custom", "--members", "sft", "--out", model, "--resume",
		"--data", other, "--steps", "2")
	table := writeText(t, filepath.Join(t.TempDir(), "a.csv"), "t\nx\n")
	refuse(t, exitUsage, "expected a file name that ends in .jsonl, .csv, .tsv, .parquet or .arrow: BED has spans, "+
		"not "+
		"vectors", "", "embed", "--model", model, "--input", table, "--text", "t", "--output",
		filepath.Join(t.TempDir(), "a.bed"))
	arrow := writeText(t, filepath.Join(t.TempDir(), "a.arrow"), "t\nx\n")
	refuse(t, exitError, "found no schema message: the file begins with the text \"t\\nx\\n\": name its format with "+
		"--format, such as csv or jsonl", "", "data", "convert", "--from", arrow, "--text", "t", "--to",
		filepath.Join(t.TempDir(), "to"))
}
