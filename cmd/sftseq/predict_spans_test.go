package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/testenv"
)

// TestNoSpans checks that predict and eval warn if a tagger predicts no span, and that train and
// eval warn if its score does not exceed a baseline's. If a tagger predicts spans, predict and eval do
// not warn of 0 spans.
func TestNoSpans(t *testing.T) {
	testenv.NoRace(t, "trains with code that the tests of package train cover")
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	row := func(split, tags string) string {
		return `{"text":"here Ann walks home now","tags":"` + tags + `","split":"` + split + "\"}\n"
	}
	train := func(name, frequentTags string) (trained, evaluated, predicted string) {
		rows := ""
		for _, split := range []string{"train", "val", "test"} {
			rows += strings.Repeat(row(split, frequentTags), 38) + row(split, "O B-PER O O O")
		}
		from := writeText(t, in(name+".jsonl"), rows)
		model, data := in(name), in(name+"-data")
		exits(t, exitOK, "", "data", "convert", "--from", from, "--to", data, "--text", "text", "--tags", "tags",
			"--split-column", "split", "--no-baselines")
		trained = printed(t, "", "train", "custom", "--members", "sft", "--data", data, "--out", model,
			"--steps", "40", "--lr", "0.01",
			"--hidden", "16", "--k", "8", "--device", "cpu")
		evaluated = printed(t, "", "eval", "--model", model, "--data", data, "--split", "test", "--device", "cpu")
		_, predicted = exits(t, exitOK, "", "predict", "--model", model, "--input", from, "--text", "text", "--output",
			in(name+".bed"), "--device", "cpu")
		return trained, evaluated, predicted
	}
	trained, evaluated, predicted := train("none", "O O O O O")
	contains(t, trained, "is no better than ")
	contains(t, evaluated, "the model predicts 0 spans in 39 rows\n", "the model (span F1 0.0000) is no better than ")
	contains(t, predicted, "warning: the model predicts 0 spans in 117 rows: ")
	equal(t, readText(t, in("none.bed")), "")
	_, evaluated, predicted = train("many", "O B-PER O O O")
	notContains(t, evaluated+predicted, "0 spans in")
}
