package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/sft/config"
)

// TestPretrainChunks checks that a stopped and resumed pretraining of a chunked model equals an
// uninterrupted one. It fills masks with the model, and starts a classifier and a second pretraining from it.
func TestPretrainChunks(t *testing.T) {
	data, runs := generated(t), t.TempDir()
	flags := []string{"pretrain", data, "--steps", "24", "--batch", "8", "--hidden", "16", "--layers", "2", "--k", "8",
		"--eval-every", "8", "--seed", "5", "--chunks", "16", "--chunk-exports", "2", "--out"}
	whole, resumed := filepath.Join(runs, "whole"), filepath.Join(runs, "resumed")
	output := done(t, "", append(flags, whole, "--threads", "1")...)
	contains(t, output, "validation bits per token ", "--chunks 16 --chunk-exports 2")
	done(t, "", append(flags, resumed, "--threads", "2", "--stop-at", "11")...)
	done(t, "", "pretrain", "--out", resumed, "--resume")
	compareRuns(t, whole, resumed)
	want := config.Chunks{Rule: "content", Average: 16, Exports: 2, Layers: 1}
	equal(t, *must.Get(sft.Load(whole))(t).Config.Chunks, want)
	text := succeed(t, `{"id":3,"text":"[MAX 2 _ _"}`+"\n", "predict", "--fill", "--mask", "_", "--model", whole)
	occurs(t, text, `"position"`, 2)
	contains(t, done(t, "", "eval", "--model", whole, "--data", data), "bits per token")
	contains(t, done(t, `{"text":"[MAX 2 3"}`+"\n", "embed", "--model", whole), `"embedding":`)

	labelled := filepath.Join(runs, "labelled")
	output = done(t, "", append(small(data, labelled), "--steps", "2", "--hidden", "16", "--init-from", whole)...)
	contains(t, output, " parameters from "+whole+", fresh: head.pool.weight, head.pool.bias, head.out.weight, ")
	equal(t, *must.Get(sft.Load(labelled))(t).Config.Chunks, want)
	done(t, "", "pretrain", data, "--steps", "2", "--init-from", whole, "--out", filepath.Join(runs, "more"))
	refuse(t, exitUsage, "expected --members linear,sft", "",
		"train", "custom", "--members", "linear,lexical", "--data", data, "--init-from", whole, "--out",
		filepath.Join(runs, "members"))
}

// TestTrainChunkedTags trains a chunked model of tags, uses it with the commands that support it, and checks
// the errors of other commands.
func TestTrainChunkedTags(t *testing.T) {
	var text strings.Builder
	for i := range 60 {
		words, tags := strings.Repeat("here Ann walks home now ", 4+i%5), strings.Repeat("O B-P O O O ", 4+i%5)
		text.WriteString(`{"text":"` + strings.TrimSpace(words) + `","tags":"` + strings.TrimSpace(tags) + "\"}\n")
	}
	data := tableData(t, "names.jsonl", text.String(), "--text", "text", "--tags", "tags", "--split", "0.6,0.2,0.2")
	model := filepath.Join(t.TempDir(), "run")
	done(t, "", "train", "custom", "--data", data, "--device", "cpu", "--hidden", "16", "--steps", "80", "--lr",
		"0.02", "--chunks", "16", "--out", model)
	c := must.Get(sft.Load(model))(t).Config
	equal(t, [2]int{c.NumLayers, c.Chunks.Layers}, [2]int{3, 2}) // without chunks the model has two layers
	contains(t, done(t, "", "eval", "--model", model, "--data", data), "100.00%    1.0000    1.0000\n")
	row := `{"id":"x","text":"here Ann walks home now"}` + "\n"
	contains(t, done(t, row, "predict", "--model", model), `"spans":[{"start":5,"end":8,"label":"P"`)
	refuse(t, exitError, "a chunked model that predicts tags has no explanations", row, "predict", "--model", model,
		"--explain")
	refuse(t, exitError, "found a model of tags", "", "predict", "--model", model, "--document",
		filepath.Join(data, "spec.json"))
	info := decode[modelInfo](t, done(t, "", "info", "--model", model, "--json"))
	if last := info.Costs[len(info.Costs)-1].Edit; !(last > 0.3 && last < 0.7) {
		t.Errorf("an edit costs %v of a long document, want 0.3 to 0.7: the head reads all of its tokens again", last)
	}
	refuse(t, exitError, "export does not support chunked models", "", "export", "onnx", "--model", model, "--output",
		filepath.Join(t.TempDir(), "m.onnx"))
}
