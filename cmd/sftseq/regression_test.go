package main

import (
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/task"
	"github.com/sftseq/sftseq/internal/testenv"
	"github.com/sftseq/sftseq/seq"
)

// TestRegression checks regression from a table: training, predictions as lines, tables and Arrow,
// eval, report, and training from an existing model. Unsupported requests are refused.
func TestRegression(t *testing.T) {
	testenv.NoRace(t, "trains with code that the tests of package train cover; its baselines are slow")
	dir := t.TempDir()
	csv := writeText(t, filepath.Join(dir, "t.csv"), motifRows(300, 24))
	data, model := filepath.Join(dir, "data"), filepath.Join(dir, "model")
	done(t, "", "data", "convert", "--from", csv, "--to", data, "--text", "sequence", "--numbers", "count,length",
		"--tokenizer", "dna:1", "--split", "0.6,0.2,0.2")
	if output := runCustom(t, data, model, "--steps", "60", "--eval-every", "30", "--device",
		"cpu"); !strings.Contains(output, "validation R² ") || !strings.Contains(output, "validation loss ") ||
		strings.Contains(output, "accuracy") {
		t.Errorf("unexpected output of train: %s", output)
	} else {
		checkBaselines(t, output, model, data, numberBaselinesLine)
		checkBaselineLoss(t, output, meanLoss(t, data))
	}

	var line struct {
		ID      string             `json:"id"`
		Numbers map[string]float64 `json:"numbers"`
		Length  int                `json:"length"`
		Label   any                `json:"label"`
	}
	output := done(t, `{"id":"x","text":"GATTACAGATTACAGATTACA"}`+"\n", "predict", "--model", model)
	if err := json.Unmarshal([]byte(output), &line); err != nil || line.ID != "x" || len(line.Numbers) != 2 ||
		line.Length != 21 || line.Label != nil || math.Abs(line.Numbers["length"]-21) > 8 {
		t.Errorf("unexpected output %s, error %v", output, err)
	}
	done(t, "", "predict", "--model", model, "--input", csv, "--text", "sequence", "--id", "name", "--keep", "count",
		"--output", filepath.Join(dir, "o.csv"))
	if first := strings.SplitN(readText(t, filepath.Join(dir, "o.csv")), "\n", 3); !strings.HasPrefix(first[0],
		"id,input_count,count,length") || !strings.HasPrefix(first[1], "s0,") {
		t.Errorf("unexpected header or first row of the CSV output:\n%s", strings.Join(first[:2], "\n"))
	}
	jsonl := done(t, "", "predict", "--model", model, "--input", csv, "--text", "sequence", "--output",
		filepath.Join(dir, "o.jsonl")) + "\n"
	if text := readText(t, filepath.Join(dir, "o.jsonl")); !strings.Contains(strings.SplitN(text, "\n",
		2)[0], `"numbers":{"count":`) {
		t.Errorf("expected numbers in the first line of the JSON output: %s%s", jsonl, strings.SplitN(text, "\n", 2)[0])
	}

	file := filepath.Join(data, "test.arrow")
	for _, command := range []string{"predict", "embed"} {
		done(t, "", command, "--model", model, "--input", file, "--output", filepath.Join(dir, "o.arrow"))
		lines := strings.Count(done(t, "", "data", "head", file, "--rows", "1000"), "\n")
		if got := arrowRows(t, filepath.Join(dir, "o.arrow")); len(got) == 0 || len(got) != lines {
			t.Errorf("%s: %d rows of Arrow, want %d", command, len(got), lines)
		}
	}

	var result task.NumbersResult
	if err := json.Unmarshal([]byte(done(t, "", "eval", "--model", model, "--data", data, "--json")),
		&result); err != nil || result.Rows < 30 || len(result.Numbers) != 2 {
		t.Errorf("unexpected result %+v, error %v", result, err)
	}
	set := must.Get(seq.OpenDataset(data))(t)
	train, test := set.Manifest.Splits["train"].Numbers[1], set.Manifest.Splits["test"].Numbers[1]
	if want := math.Hypot(test.Deviation,
		test.Mean-train.Mean); math.Abs(result.Numbers[1].Mean.RMSE-want) > 1e-5*want {
		t.Errorf("the baseline of the training mean: got RMSE %v, want %v", result.Numbers[1].Mean.RMSE, want)
	}
	if n := result.Numbers[1]; *n.R2 <= *n.Mean.R2 || n.RMSE >= n.Mean.RMSE {
		t.Errorf("the model is not better than the mean: %+v", n)
	}
	contains(t, done(t, "", "eval", "--model", model, "--data", data), "mean of the training split", "ridge regression")
	contains(t, runCustom(t, data, filepath.Join(dir, "seeds"), "--seeds", "1,2", "--steps", "2", "--device", "cpu"),
		"validation loss over 2 seeds: mean ")
	checkExplain(t, model, "abcba", true)
	checkEvalShards(t, model, data)
	checkNumberErrors(t, model, data, "count", "length")
	done(t, "", "report", model, "--out", filepath.Join(dir, "report.html"))
	text := readText(t, filepath.Join(dir, "report.html"))
	contains(t, text, "ridge regression", "mean of the training split", "predictions of count over the true values",
		"predictions of length", ", predicted as ", "in the units of the data", "regression, 2 numbers")
	equal(t, strings.Count(text, ", predicted as "), 2*result.Rows, result.Rows)
	runCustom(t, data, filepath.Join(dir, "more"), "--init-from", model, "--steps", "2", "--device", "cpu")
	done(t, "", "pretrain", "--data", data, "--out", filepath.Join(dir, "pre"), "--steps", "2", "--device", "cpu")
	contains(t, runCustom(t, data, filepath.Join(dir, "on"), "--init-from", filepath.Join(dir, "pre"), "--steps", "2",
		"--device", "cpu"), "parameters from")

	squared := filepath.Join(dir, "squared")
	runCustom(t, data, squared, "--steps", "2", "--device", "cpu", "--regression-loss", "squared")
	contains(t, readText(t, filepath.Join(squared, "config.json")), `"regression_loss": "squared"`)

	for want, args := range map[string][]string{
		"--regression-loss \"cubic\": expected smooth_l1, squared": {"train", "custom", "--members",
			"sft", "--data", data, "--out",
			filepath.Join(dir, "no"), "--regression-loss", "cubic"},
		"--class-weights: ": {"train", "custom", "--members", "sft", "--data", data, "--out", filepath.Join(dir, "no"),
			"--class-weights", "balanced"},
		"expected data of the task listops": {"train", "listops", "--data", data, "--out", filepath.Join(dir, "no")},
	} {
		contains(t, failing(t, "", args...), want)
	}
	if status, _, errs := program(strings.NewReader(""), "eval", "--model", model, "--data",
		fmt.Sprint(data, "/train.arrow"), "--split", "x"); status == 0 {
		t.Errorf("eval of a file with --split x: got success, want an error; standard error:\n%s", errs)
	}
}
