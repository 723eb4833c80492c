package main

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/requests"
)

// TestEnsemble: the models that train --seeds leaves answer together where --model is their folder: by lines, by
// tables, by shards, to eval and over a server, with the mean of their probabilities.
func TestEnsemble(t *testing.T) {
	data, out := unequalData(t), filepath.Join(t.TempDir(), "runs [x]")
	status, said, errs := program(nil, "train", "custom", "--data", data, "--out", out, "--seeds", "3,1,2", "--hidden", "8", "--steps", "6", "--batch", "16", "--eval-every", "3", "--lr", "0.05", "--warmup", "0")
	if status != 0 || !strings.Contains(said, "the models answer together, too, with fewer errors: --model '"+out+"'\n") {
		t.Fatalf("status %d, %s\n%s", status, said, errs)
	}
	told := out + ": 3 models, which answer together: seed-1, seed-2, seed-3\n"
	predict := func(model, told string, args ...string) []requests.Prediction {
		t.Helper()
		lines := `{"text":"7"}` + "\n" + `{"text":"123"}` + "\n"
		status, said, errs := program(strings.NewReader(lines), append(args, "--model", model)...)
		if status != 0 || compiling.ReplaceAllString(errs, "") != told {
			t.Fatalf("status %d, %s", status, errs)
		}
		var replies []requests.Prediction
		for line := range strings.Lines(said) {
			var r requests.Prediction
			if err := json.Unmarshal([]byte(line), &r); err != nil {
				t.Fatal(err)
			}
			replies = append(replies, r)
		}
		return replies
	}
	got := predict(out, told, "predict")
	mean := make([][2]float64, len(got))
	for _, seed := range []string{"seed-1", "seed-2", "seed-3"} {
		for i, r := range predict(filepath.Join(out, seed), "", "predict") {
			for class, p := range r.Probabilities {
				mean[i][class] += float64(p) / 3
			}
		}
	}
	for i, r := range got {
		for class, p := range r.Probabilities {
			if math.Abs(float64(p)-mean[i][class]) > 1e-6 || len(r.Probabilities) != 2 {
				t.Errorf("line %d: probability %v of class %d, expected %v", i, p, class, mean[i][class])
			}
		}
	}
	served := predict(out, told, "serve", "--log", "error")
	for i := range got {
		if served[i].Label != got[i].Label || served[i].Probabilities[0] != got[i].Probabilities[0] {
			t.Errorf("line %d: a server says %+v, predict %+v", i, served[i], got[i])
		}
	}

	var result struct {
		Models, Rows int
		Accuracy     float64
	}
	status, said, errs = program(nil, "eval", "--model", out, "--data", data, "--split", "val", "--json")
	if err := json.Unmarshal([]byte(said), &result); status != 0 || err != nil || result.Models != 3 || result.Rows != 42 {
		t.Fatalf("status %d, %v, %s%s", status, err, said, errs)
	}
	if status, said, _ := program(nil, "eval", "--model", out, "--data", data, "--split", "val"); status != 0 || !strings.HasPrefix(said, out+" (3 models together) on ") {
		t.Errorf("%s", said)
	}

	// By shards, of which a part is of all three models.
	parts, rows := filepath.Join(t.TempDir(), "parts"), filepath.Join(data, "val.arrow")
	shard := []string{"predict", "--model", out, "--input", rows, "--shard", "0/1", "--output", parts}
	if status, _, errs := program(nil, shard...); status != 0 {
		t.Fatal(errs)
	}
	if status, said, errs := program(nil, shard...); status != 0 || !strings.Contains(said, "nothing to do") {
		t.Errorf("%s%s", said, errs)
	}
	if status, said, errs := program(nil, "predict", "--verify", "--model", out, "--output", parts); status != 0 {
		t.Errorf("%s%s", said, errs)
	}

	for want, args := range map[string][]string{
		"embed: expected a model, found 3 that answer together, and do no more: name one of them, such as --model '" + filepath.Join(out, "seed-1") + "' (seed-1, seed-2, seed-3)": {"embed", "--model", out},
		"--explain: expected a model, found 3": {"predict", "--explain", "--model", out},
		"--index: expected a model, found 3":   {"serve", "--index", filepath.Join(t.TempDir(), "index"), "--model", out},
	} {
		if status, _, errs := program(strings.NewReader(""), args...); status != exitError || !strings.Contains(errs, "sftseq: "+want) {
			t.Errorf("%v: status %d, %s", args, status, errs)
		}
	}

	// One of them is other weights: the parts are of another model. And one is of other data.
	if err := os.CopyFS(filepath.Join(out, "seed-4"), os.DirFS(filepath.Join(out, "seed-1"))); err != nil {
		t.Fatal(err)
	}
	if status, _, errs := program(nil, "predict", "--verify", "--model", out, "--output", parts); status == 0 {
		t.Errorf("parts of three models pass for those of four: %s", errs)
	}
	if err := os.CopyFS(filepath.Join(out, "other"), os.DirFS(goldenPath("pre"))); err != nil {
		t.Fatal(err)
	}
	refuse(t, exitError, out+": expected models that answer together, and seed-1 does not fit other: its answers are others than those of the first", "", "predict", "--model", out)

	alone := filepath.Join(t.TempDir(), "runs")
	if err := os.CopyFS(filepath.Join(alone, "seed-1"), os.DirFS(filepath.Join(out, "seed-1"))); err != nil {
		t.Fatal(err)
	}
	if r := predict(alone, "", "predict"); len(r) != 2 || r[0].Probabilities[0] != predict(filepath.Join(out, "seed-1"), "", "predict")[0].Probabilities[0] {
		t.Errorf("%+v", r)
	}
}
