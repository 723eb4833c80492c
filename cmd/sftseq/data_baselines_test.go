package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/baseline"
	"github.com/sftseq/sftseq/seq"
)

// TestConvertBaselines: a conversion says what simple models reach, and keeps it.
func TestConvertBaselines(t *testing.T) {
	path, dir := proseTable(t, 600), t.TempDir()
	to := filepath.Join(dir, "data")
	args := []string{"data", "convert", "--from", path, "--to", to, "--text", "review", "--label", "mood", "--split", "0.6,0.2,0.2"}
	out := succeed(t, "", args...)
	for _, split := range []string{"val", "test"} {
		_, line, ok := strings.Cut(out, "baselines of "+split+": largest class (")
		line, _, _ = strings.Cut(line, "\n")
		var class string
		var majority, bag float64
		if n, err := fmt.Sscanf(line, "%s %f%%, bag of words and neighbours, logistic regression %f%%", &class, &majority, &bag); !ok || n != 3 || majority < 30 || majority > 70 || bag < 95 {
			t.Errorf("%s: %q, %v, expected about 50%% and all", split, line, err)
		}
	}
	if _, err := os.Stat(filepath.Join(to, baseline.FileName)); err != nil {
		t.Error(err)
	}
	args[5] = filepath.Join(dir, "plain")
	if out := succeed(t, "", append(args, "--no-baselines")...); strings.Contains(out, "baseline") {
		t.Error(out)
	}
	if _, err := os.Stat(filepath.Join(dir, "plain", baseline.FileName)); err == nil {
		t.Error("--no-baselines kept some")
	}
}

// TestBaselinesBesideModels: training, eval and the report show what simple models reach;
// a report measures them where the conversion did not.
func TestBaselinesBesideModels(t *testing.T) {
	path, dir := proseTable(t, 600), t.TempDir()
	data, plain, run := filepath.Join(dir, "data"), filepath.Join(dir, "plain"), filepath.Join(dir, "run")
	convert := []string{"data", "convert", "--from", path, "--text", "review", "--label", "mood", "--split", "0.6,0.2,0.2", "--to"}
	succeed(t, "", append(convert, data)...)
	succeed(t, "", append(convert, plain, "--no-baselines")...)
	status, out, errs := program(nil, "train", "custom", "--data", data, "--out", run, "--steps", "3", "--hidden", "16")
	if status != exitOK || !strings.Contains(out, "simple models reach there: largest class (") {
		t.Fatalf("status %d\n%s%s", status, out, errs)
	}
	if out := succeed(t, "", "eval", "--model", run, "--data", data); !strings.Contains(out, "largest class (") || !strings.Contains(out, baseline.BagOfWords) {
		t.Errorf("eval: %s", out)
	}
	if out := succeed(t, "", "eval", "--model", run, "--data", data, "--json"); !strings.Contains(out, `"majority"`) {
		t.Errorf("eval --json: %s", out)
	}
	if out := succeed(t, "", "eval", "--model", run, "--data", plain); strings.Contains(out, "largest class") {
		t.Errorf("eval of data without baselines: %s", out)
	}
	whole := readText(t, filepath.Join(data, baseline.FileName))
	if err := os.WriteFile(filepath.Join(data, baseline.FileName), []byte(whole[:len(whole)/2]), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		means string
		args  []string
	}{
		{leftOut, []string{"eval", "--model", run, "--data", data}},
		{leftOut, []string{"train", "custom", "--data", data, "--out", filepath.Join(dir, "again"), "--steps", "1", "--hidden", "16"}},
		{"simple models are measured anew", []string{"report", "--out", filepath.Join(dir, "damaged.html"), "--data", data, run}},
	} {
		status, out, errs := program(nil, c.args...)
		if status != exitOK || strings.Count(errs, "warning: "+filepath.Join(data, baseline.FileName)+": expected") != 1 || !strings.Contains(errs, "; "+c.means+" (sftseq data baselines --data "+data+" makes the file anew)\n") {
			t.Errorf("%s beside a damaged file: status %d\n%s%s", c.args[0], status, out, errs)
		}
	}
	if !strings.Contains(readText(t, filepath.Join(dir, "damaged.html")), baseline.BagOfWords) {
		t.Error("the report does not measure simple models")
	}
	succeed(t, "", "data", "baselines", "--data", data)
	if readText(t, filepath.Join(data, baseline.FileName)) != whole {
		t.Error("data baselines did not mend the file")
	}
	for _, set := range []string{data, plain} {
		page := filepath.Join(dir, filepath.Base(set)+".html")
		if status, _, errs := program(nil, "report", "--data", set, "--out", page, run); status != exitOK {
			t.Fatalf("status %d: %s", status, errs)
		}
		if text := readText(t, page); !strings.Contains(text, baseline.BagOfWords) || !strings.Contains(text, "largest class (") {
			t.Errorf("%s: the page has no baselines", set)
		}
	}
}

// TestTaskBaselines: what generates or converts the data of a task measures simple models,
// too, and changes nothing else; they can be measured later.
func TestTaskBaselines(t *testing.T) {
	dir := t.TempDir()
	short := []string{"--train", "60", "--val", "20", "--test", "20", "--min-length", "5", "--max-length", "40"}
	with, without := filepath.Join(dir, "with"), filepath.Join(dir, "without")
	out := mustRunData(t, append([]string{"generate", "listops", "--out", with}, short...)...)
	for _, split := range []string{"val", "test"} {
		if !strings.Contains(out, "baselines of "+split+": largest class (") || !strings.Contains(out, baseline.Root) {
			t.Errorf("%s: %s", split, out)
		}
	}
	if out := mustRunData(t, append([]string{"generate", "listops", "--no-baselines", "--out", without}, short...)...); strings.Contains(out, "baselines") {
		t.Error(out)
	}
	if got, want := names(t, with), append([]string{baseline.FileName}, names(t, without)...); !slices.Equal(got, want) {
		t.Errorf("%q, expected %q", got, want)
	}
	for _, name := range names(t, without) {
		if readText(t, filepath.Join(with, name)) != readText(t, filepath.Join(without, name)) {
			t.Errorf("%s differs", name)
		}
	}
	if later := mustRunData(t, "baselines", "--data", without); !strings.HasSuffix(out, later) || later == "" {
		t.Errorf("%q later, expected the end of %q", later, out)
	}
	if readText(t, filepath.Join(with, baseline.FileName)) != readText(t, filepath.Join(without, baseline.FileName)) {
		t.Error("what is measured later differs")
	}

	from := t.TempDir() // as official files
	for _, split := range []string{"train", "val", "test"} {
		var text strings.Builder
		text.WriteString("Source\tTarget\n")
		for i := range 9 {
			fmt.Fprintf(&text, "( ( [MAX %d ) ] )\t%d\n", i%3, i%3)
		}
		writeText(t, filepath.Join(from, "basic_"+split+".tsv"), text.String())
	}
	args := []string{"convert", "listops", "--from", from, "--to", filepath.Join(dir, "converted")}
	if out := mustRunData(t, args...); !strings.HasSuffix(out, "baselines of test: largest class (0) 33.33%, operator at the root alone 33.33%\n") {
		t.Error(out)
	}
	if out := mustRunData(t, append(args, "--force", "--no-baselines")...); strings.Contains(out, "baselines") {
		t.Error(out)
	}

	alone := filepath.Join(dir, "alone") // there is nothing to train on
	if out := mustRunData(t, "convert", "listops", "--from", filepath.Join(from, "basic_test.tsv"), "--to", alone); strings.Contains(out, "baselines") {
		t.Error(out)
	}
	if _, err := runData("baselines", "--data", alone); err == nil || !strings.Contains(err.Error(), "expected labels, and rows in the split train and in another one") {
		t.Errorf("%v", err)
	}
}

// TestBaselinesOfNumbers: of numbers data baselines says what simple models reach on each split, as eval
// does, and stores nothing.
func TestBaselinesOfNumbers(t *testing.T) {
	dir := t.TempDir()
	data := filepath.Join(dir, "data")
	csv := writeText(t, filepath.Join(dir, "t.csv"), motifRows(200, 24))
	mustRunData(t, "convert", "--from", csv, "--to", data, "--text", "sequence", "--numbers", "count,length", "--tokenizer", "dna:1", "--split", "0.6,0.2,0.2")
	model := filepath.Join(dir, "model")
	done(t, "", "train", "custom", "--data", data, "--out", model, "--hidden", "8", "--layers", "1", "--k", "4", "--steps", "2", "--device", "cpu")
	var result numbersResult
	if err := json.Unmarshal([]byte(succeed(t, "", "eval", "--model", model, "--data", data, "--device", "cpu", "--json")), &result); err != nil {
		t.Fatal(err)
	}
	said := succeed(t, "", "data", "baselines", "--data", data)
	for _, n := range result.Numbers {
		want := fmt.Sprintf("baselines of test: number %s: mean of the training split MAE %.6g, RMSE ", n.Name, n.Mean.MAE)
		linear := fmt.Sprintf(", ridge regression MAE %.6g, RMSE %.6g, R² %.4f\n", n.Linear.MAE, n.Linear.RMSE, *n.Linear.R2)
		if !strings.Contains(said, want) || !strings.Contains(said, linear) || !strings.Contains(said, "baselines of val: number "+n.Name+": ") {
			t.Errorf("expected %q and %q in\n%s", want, linear, said)
		}
	}
	bare := filepath.Join(dir, "bare")
	mustRunData(t, "convert", "--from", csv, "--to", bare, "--text", "sequence", "--numbers", "count", "--tokenizer", "dna:1", "--split", "1,0,0")
	refuse(t, exitError, "expected rows with numbers in the split train and in another one", "", "data", "baselines", "--data", bare)
}

// TestBaselinesOfUnknownNumbers: of a split whose numbers are unknown data baselines says nothing, and
// without those of training it is an error.
func TestBaselinesOfUnknownNumbers(t *testing.T) {
	for _, c := range []struct {
		unknown string
		status  int
		said    string
	}{
		{"val", exitOK, "baselines of test: number y: mean of the training split MAE 0, RMSE 0; bag of tokens, ridge regression MAE 0, RMSE 0\n"},
		{"train", exitError, "sftseq: DATA: expected rows with numbers in the split train and in another one, which simple models need\n"},
	} {
		data := filepath.Join(t.TempDir(), "data")
		b, err := seq.CreateDataset(data, seq.Spec{Task: seq.Regression, Name: "rows", VocabSize: 4, NumberNames: []string{"y"}}, false)
		if err != nil {
			t.Fatal(err)
		}
		defer b.Abort()
		for _, split := range []string{"train", "val", "test"} {
			w, err := b.Split(split)
			if err != nil {
				t.Fatal(err)
			}
			for i := range 3 {
				x := seq.Example{A: []int32{int32(i)}, Label: seq.NoLabel}
				if split != c.unknown {
					x.Numbers = []float32{7}
				}
				if err := w.Write(x); err != nil {
					t.Fatal(err)
				}
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := b.Finish(nil); err != nil {
			t.Fatal(err)
		}
		status, out, errs := program(nil, "data", "baselines", "--data", data)
		if said := strings.ReplaceAll(out+errs, data, "DATA"); status != c.status || said != c.said {
			t.Errorf("without those of %s: status %d, %s", c.unknown, status, said)
		}
	}
}
