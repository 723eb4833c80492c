package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/task"
)

// TestExportQuantized checks that a model with 8-bit embeddings is smaller, that eval reads it and has almost
// the same loss, and that the export for PyTorch has floats. It also checks the errors of export quantized.
func TestExportQuantized(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	data := tableData(t, "reviews.csv", readText(t, proseTable(t, 300)), "--text", "review", "--label", "mood",
		"--split", "0.6,0.2,0.2", "--tokenizer", "byte")
	runCustom(t, data, at("run"), "--steps", "30", "--device", "cpu", "--ngrams", "bytes:3-5:2^14:1:300")
	contains(t, succeed(t, "", "export", "quantized", at("run"), "--output", at("small")),
		"small: "+at("run")+" with 8-bit embeddings\n")
	size := func(model string) int64 {
		return must.Get(os.Stat(filepath.Join(model, "model.safetensors")))(t).Size()
	}
	if saved := size(at("run")) - size(at("small")); saved < 300*3*64-3*64-300*4 { // 64 channels, a scale for each row
		t.Errorf("the model is %d bytes smaller, want about %d", saved, 300*3*64)
	}
	contains(t, succeed(t, "", "info", at("small")), `"max_features": 300,`, `"bits": 8`)
	loss := func(model string) float64 {
		return decode[task.ClassesResult](t, printed(t, "", "eval", "--model", model, "--data", data, "--json")).Loss
	}
	want, got := loss(at("run")), loss(at("small"))
	if want == got || want-got > 0.01 || got-want > 0.01 {
		t.Errorf("the loss is %v before and %v after, want a small difference", want, got)
	}
	succeed(t, "", "export", "pytorch", at("small"), "--output", at("pytorch"))
	notContains(t, readText(t, filepath.Join(at("pytorch"), "config.json")), `"bits"`)
	refuse(t, exitError, "already have 8 bits", "", "export", "quantized", at("small"), "--output", at("again"))
	refuse(t, exitError, "the folder already has a config.json", "", "export", "quantized", at("run"), "--output",
		at("small"))
	must.Check(t, os.Remove(filepath.Join(at("small"), "config.json")))
	refuse(t, exitError, "the folder already has a model.safetensors", "", "export", "quantized", at("run"), "--output",
		at("small"))
	file := writeText(t, at("file"), "")
	refuse(t, exitError, file+": expected a folder, found a regular file", "", "export", "quantized", at("run"),
		"--output", file)
	refuse(t, exitUsage, "--output", "", "export", "quantized", at("run"))
	refuse(t, exitError, "expected a model with embeddings of n-grams (sftseq train --ngrams), found none", "",
		"export", "quantized", goldenPath("pre"), "--output", at("none"))
	if _, err := os.Stat(at("none")); err == nil {
		t.Errorf("a failed command leaves the folder %s", at("none"))
	}
}
