package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
)

// TestTrainRefit checks that a saved linear model is trained on the validation split, too, if there
// is a test split, and that eval warns about results on the validation split. A fusion fits its
// weights with the linear model of the training split alone. A run that is resumed after an interruption writes the
// same fusion and linear model again.
func TestTrainRefit(t *testing.T) {
	const warning = "a linear model was also trained on the split val"
	table := readText(t, proseTable(t, 200))
	data := tableData(t, "reviews.csv", table, "--text", "review", "--label", "mood", "--split", "0.6,0.2,0.2")
	untested := tableData(t, "untested.csv", table, "--text", "review", "--label", "mood", "--split", "0.8,0.2,0")
	evaluated := func(args ...string) string {
		_, errs := exits(t, exitOK, "", append([]string{"eval"}, args...)...)
		return errs
	}
	alone := filepath.Join(t.TempDir(), "alone")
	_, errs := exits(t, exitOK, "", "train", "custom", "--members", "linear", "--data", data, "--out", alone)
	contains(t, errs, "linear model of 120 rows: ", "linear model of 160 rows including the validation split: ")
	contains(t, evaluated("--model", alone, "--data", data, "--split", "val"), warning)
	notContains(t, evaluated("--model", alone, "--data", data), warning)
	plain, _ := linearModel(t, untested)
	notContains(t, evaluated("--model", plain, "--data", untested, "--split", "val"), warning)

	fused := filepath.Join(t.TempDir(), "fused")
	train := []string{"train", "custom", "--members", "linear,sft", "--data", data, "--out", fused, "--steps", "4",
		"--device", "cpu", "--hidden", "8", "--layers", "1"}
	printed(t, "", train...)
	contains(t, evaluated("--model", fused, "--data", data, "--split", "val"), warning)
	weights := filepath.Join(fused, "linear", "model.safetensors")
	equal(t, readText(t, weights), readText(t, filepath.Join(alone, "model.safetensors")))
	fusion := readText(t, filepath.Join(fused, "config.json"))
	other, _ := linearModel(t, data, "--seed", "2") // weights that a killed run has not replaced
	for _, lost := range []string{"sft", "config.json"} {
		must.Succeed(t, os.RemoveAll(filepath.Join(fused, lost)))
		must.Succeed(t, os.WriteFile(weights, []byte(readText(t, filepath.Join(other, "model.safetensors"))), 0o666))
		printed(t, "", append(train, "--resume")...)
		equal(t, readText(t, filepath.Join(fused, "config.json")), fusion)
		equal(t, readText(t, weights), readText(t, filepath.Join(alone, "model.safetensors")))
	}
}
