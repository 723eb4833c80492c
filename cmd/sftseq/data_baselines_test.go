package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/baseline"
	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/task"
	"github.com/sftseq/sftseq/seq"
)

// TestConvertBaselines checks that a conversion prints baselines and stores them.
func TestConvertBaselines(t *testing.T) {
	path, dir := proseTable(t, 600), t.TempDir()
	to := filepath.Join(dir, "data")
	args := []string{"data", "convert", "--from", path, "--to", to, "--text", "review", "--label", "mood",
		"--split", "0.6,0.2,0.2"}
	out := succeed(t, "", args...)
	for _, split := range []string{"val", "test"} {
		_, line, ok := strings.Cut(out, "baselines of "+split+": largest class (")
		line, _, _ = strings.Cut(line, "\n")
		var class string
		var majority, bag float64
		if n, err := fmt.Sscanf(line, "%s %f%%, word n-grams, logistic regression %f%%", &class, &majority,
			&bag); !ok || n != 3 || majority < 30 || majority > 70 || bag < 95 {
			t.Errorf("%s: %q, %v, expected about 50%% for the largest class and 100%% for the word n-grams", split,
				line, err)
		}
	}
	equal(t, exists(filepath.Join(to, baseline.FileName)), true)
	args[5] = filepath.Join(dir, "plain")
	notContains(t, succeed(t, "", append(args, "--no-baselines")...), "baseline")
	noFile(t, filepath.Join(dir, "plain", baseline.FileName))
}

// TestInterruptedBaselines checks that an interrupt while baselines are measured leaves the data set,
// and that the error names the command to measure them.
func TestInterruptedBaselines(t *testing.T) {
	to := filepath.Join(t.TempDir(), "data")
	ctx, cancel := context.WithCancel(t.Context())
	out, errs := &cancelLog{text: "\nlabels: ", cancel: cancel}, &strings.Builder{}
	equal(t, run(ctx, []string{"sftseq", "data", "convert", "--from", proseTable(t, 600), "--to", to, "--text",
		"review", "--label", "mood"}, strings.NewReader(""), out, errs), exitError)
	equal(t, errs.String(), "sftseq: interrupted: the data set is complete, only its baselines are missing; "+
		"measure them with:\n  sftseq data baselines --data "+to+"\n")
	noFile(t, filepath.Join(to, baseline.FileName))
	mustRunData(t, "baselines", "--data", to)
}

// cancelLog is a log that calls cancel when it contains text.
type cancelLog struct {
	strings.Builder
	text   string
	cancel context.CancelFunc
}

func (l *cancelLog) Write(p []byte) (int, error) {
	n, err := l.Builder.Write(p)
	if strings.Contains(l.String(), l.text) {
		l.cancel()
	}
	return n, err
}

// TestBaselinesBesideModels checks that training, eval and report show baselines. report measures
// them if the conversion did not.
func TestBaselinesBesideModels(t *testing.T) {
	path, dir := proseTable(t, 600), t.TempDir()
	data, plain, run := filepath.Join(dir, "data"), filepath.Join(dir, "plain"), filepath.Join(dir, "run")
	convert := []string{"data", "convert", "--from", path, "--text", "review", "--label", "mood",
		"--split", "0.6,0.2,0.2", "--to"}
	succeed(t, "", append(convert, data)...)
	succeed(t, "", append(convert, plain, "--no-baselines")...)
	output := printed(t, "", "train", "custom", "--members", "sft", "--data", data, "--out", run,
		"--steps", "3", "--hidden", "16")
	contains(t, output, "validation baselines: largest class (")
	contains(t, succeed(t, "", "eval", "--model", run, "--data", data), "largest class (", baseline.WordNGrams)
	contains(t, succeed(t, "", "eval", "--model", run, "--data", data, "--json"), `"majority"`)
	notContains(t, succeed(t, "", "eval", "--model", run, "--data", plain), "largest class")
	whole := readText(t, filepath.Join(data, baseline.FileName))
	must.Succeed(t, os.WriteFile(filepath.Join(data, baseline.FileName), []byte(whole[:len(whole)/2]), 0o666))
	for _, c := range []struct {
		means string
		args  []string
	}{
		{noBaselinesShown, []string{"eval", "--model", run, "--data", data}},
		{noBaselinesShown, []string{"train", "custom", "--members", "sft", "--data", data, "--out",
			filepath.Join(dir, "again"), "--steps", "1", "--hidden", "16"}},
		{"baselines are measured again",
			[]string{"report", "--out", filepath.Join(dir, "damaged.html"), "--data", data, run}},
	} {
		if _, errs := exits(t, exitOK, "", c.args...); strings.Count(errs,
			"warning: "+filepath.Join(data, baseline.FileName)+": expected") != 1 ||
			!strings.Contains(errs, "; "+c.means+" (recreate the file with sftseq data baselines --data "+data+")\n") {
			t.Errorf("%s beside a damaged file: got %s\nwant one warning about %s, with %q and the command that "+
				"recreates it", c.args[0], errs, baseline.FileName, c.means)
		}
	}
	contains(t, readText(t, filepath.Join(dir, "damaged.html")), baseline.WordNGrams)
	succeed(t, "", "data", "baselines", "--data", data)
	equal(t, readText(t, filepath.Join(data, baseline.FileName)), whole)
	for _, set := range []string{data, plain} {
		page := filepath.Join(dir, filepath.Base(set)+".html")
		done(t, "", "report", "--data", set, "--out", page, run)
		contains(t, readText(t, page), baseline.WordNGrams, "largest class (")
	}
}

// TestTaskBaselines checks that generating or converting the data of a task also measures
// baselines, without changing the data. Baselines can be measured later.
func TestTaskBaselines(t *testing.T) {
	dir := t.TempDir()
	short := []string{"--train", "60", "--val", "20", "--test", "20", "--min-length", "5", "--max-length", "40"}
	with, without := filepath.Join(dir, "with"), filepath.Join(dir, "without")
	out := mustRunData(t, append([]string{"generate", "listops", "--out", with}, short...)...)
	contains(t, out, "baselines of val: largest class (", "baselines of test: largest class (", baseline.Root)
	notContains(t, mustRunData(t, append([]string{"generate", "listops", "--no-baselines", "--out", without},
		short...)...), "baselines")
	equal(t, names(t, with), append([]string{baseline.FileName}, names(t, without)...))
	for _, name := range names(t, without) {
		equal(t, readText(t, filepath.Join(with, name)), readText(t, filepath.Join(without, name)), name)
	}
	if later := mustRunData(t, "baselines", "--data", without); !strings.HasSuffix(out, later) || later == "" {
		t.Errorf("data baselines printed %q, want the last lines of data generate: %q", later, out)
	}
	equal(t, readText(t, filepath.Join(with, baseline.FileName)),
		readText(t, filepath.Join(without, baseline.FileName)))

	from := t.TempDir() // in the official format
	for _, split := range []string{"train", "val", "test"} {
		var text strings.Builder
		text.WriteString("Source\tTarget\n")
		for i := range 9 {
			fmt.Fprintf(&text, "( ( [MAX %d ) ] )\t%d\n", i%3, i%3)
		}
		writeText(t, filepath.Join(from, "basic_"+split+".tsv"), text.String())
	}
	args := []string{"convert", "listops", "--from", from, "--to", filepath.Join(dir, "converted")}
	if out := mustRunData(t, args...); !strings.HasSuffix(out,
		"baselines of test: largest class (0) 33.33%, operator at the root alone 33.33%\n") {
		t.Errorf("unexpected output:\n%s", out)
	}
	notContains(t, mustRunData(t, append(args, "--force", "--no-baselines")...), "baselines")

	alone := filepath.Join(dir, "alone") // there is no training split
	notContains(t, mustRunData(t, "convert", "listops", "--from", filepath.Join(from, "basic_test.tsv"),
		"--to", alone), "baselines")
	refuse(t, exitError, "expected rows in train and in another split (data convert --split)", "", "data",
		"baselines", "--data", alone)
}

// TestBaselinesOfNumbers checks that data baselines prints the regression baselines of val and test. The
// errors on test equal those that eval prints.
func TestBaselinesOfNumbers(t *testing.T) {
	dir := t.TempDir()
	data := filepath.Join(dir, "data")
	csv := writeText(t, filepath.Join(dir, "t.csv"), motifRows(200, 24))
	mustRunData(t, "convert", "--from", csv, "--to", data, "--text", "sequence", "--numbers", "count,length",
		"--tokenizer", "dna:1", "--split", "0.6,0.2,0.2")
	model := filepath.Join(dir, "model")
	runCustom(t, data, model, "--hidden", "8", "--layers", "1", "--k", "4", "--steps", "2", "--device", "cpu")
	result := decode[task.NumbersResult](t, succeed(t, "", "eval", "--model", model, "--data", data,
		"--device", "cpu", "--json"))
	output := succeed(t, "", "data", "baselines", "--data", data)
	for _, n := range result.Numbers {
		want := fmt.Sprintf("baselines of test: number %s: mean of the training split MAE %.6g, RMSE ", n.Name,
			n.Mean.MAE)
		linear := fmt.Sprintf(", ridge regression MAE %.6g, RMSE %.6g, R² %.4f\n", n.Linear.MAE,
			n.Linear.RMSE, *n.Linear.R2)
		contains(t, output, want, linear, "baselines of val: number "+n.Name+": ")
	}
	bare := filepath.Join(dir, "bare")
	mustRunData(t, "convert", "--from", csv, "--to", bare, "--text", "sequence", "--numbers", "count", "--tokenizer",
		"dna:1", "--split", "1,0,0")
	refuse(t, exitError, "baselines need rows with numbers in train and in another split", "", "data",
		"baselines", "--data", bare)
}

// TestBaselinesOfUnknownNumbers checks that data baselines skips a split whose numbers are unknown,
// and fails if the numbers of the training split are unknown.
func TestBaselinesOfUnknownNumbers(t *testing.T) {
	for _, c := range []struct {
		unknown string
		status  int
		output  string
	}{
		{"val", exitOK, "baselines of test: number y: mean of the training split MAE 0, RMSE 0; bag of tokens, ridge regression MAE 0, RMSE 0\n"},
		{"train", exitError, "sftseq: DATA: baselines need rows with numbers in train and in another split\n"},
	} {
		data := filepath.Join(t.TempDir(), "data")
		b := must.Get(seq.CreateDataset(data, seq.Spec{Task: seq.Regression, Name: "rows", VocabSize: 4,
			NumberNames: []string{"y"}}, false))(t)
		defer b.Abort()
		for _, split := range []string{"train", "val", "test"} {
			w := must.Get(b.Split(split))(t)
			for i := range 3 {
				x := seq.Example{A: []int32{int32(i)}, Label: seq.NoLabel}
				if split != c.unknown {
					x.Numbers = []float32{7}
				}
				must.Succeed(t, w.Write(x))
			}
			must.Succeed(t, w.Close())
		}
		must.Get(b.Finish(nil))(t)
		out, errs := exits(t, c.status, "", "data", "baselines", "--data", data)
		equal(t, strings.ReplaceAll(out+errs, data, "DATA"), c.output, c.unknown)
	}
}
