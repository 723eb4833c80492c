package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/sft/train"
)

// smallPretraining returns the arguments of a pretraining run that takes less than a second.
func smallPretraining(data, out string, flags ...string) []string {
	return append([]string{"pretrain", data, "--out", out, "--steps", "24", "--batch", "8", "--hidden", "16",
		"--layers", "1", "--k", "8",
		"--eval-every", "8", "--log-every", "5", "--save-every", "1ms", "--seed", "5"}, flags...)
}

// TestPretrain checks that a run that is stopped and resumed writes the same model as an uninterrupted
// run with another number of threads. The model fills masks, embeds sequences and initialises a
// classifier.
func TestPretrain(t *testing.T) {
	data, runs := generated(t), t.TempDir()
	whole, resumed := filepath.Join(runs, "whole"), filepath.Join(runs, "resumed")
	output := done(t, "", smallPretraining(data, whole, "--threads", "1")...)
	contains(t, output, "steps 24", "validation bits per token ", "(baseline of token frequencies ",
		"(token frequencies ", "repeat with: sftseq pretrain --preset quick --seed 5 --data "+data)
	stopped := done(t, "", smallPretraining(data, resumed, "--threads", "2", "--stop-at", "11")...)
	contains(t, stopped, "sftseq pretrain --out "+resumed+" --resume")
	done(t, "", "pretrain", "--out", resumed, "--resume")
	compareRuns(t, whole, resumed)

	refuse(t, exitError, "contains a run of sftseq pretrain, which sftseq train listops cannot resume: use sftseq "+
		"pretrain --out "+resumed+" --resume, or choose another --out\n", "", "train", "listops", "--out", resumed,
		"--resume")
	refuse(t, exitUsage, "was trained without labels: evaluate it without shards", "", "eval", "--model",
		whole, "--data", data, "--shard", "0/2", "--output", filepath.Join(runs, "parts"))
	labelled := done(t, "", append(small(data, filepath.Join(runs, "labelled")), "--steps", "2", "--hidden", "16",
		"--layers", "1", "--init-from", whole)...)
	contains(t, labelled, fmt.Sprintf(" parameters from %s, fresh: head.pool.weight, head.pool.bias, head.out.weight, head.out.bias", whole))
	done(t, "", smallPretraining(data, filepath.Join(runs, "more"), "--init-from", whole)...)

	var filled struct {
		ID     int
		Text   string
		Tokens []int32
		Masks  []struct {
			Position   int
			Candidates []struct {
				Token       int32
				Text        string
				Probability float64
			}
		}
	}
	text := succeed(t, `{"id":3,"text":"[MAX 2 _ _"}`+"\n", "predict", "--fill", "--mask", "_",
		"--candidates", "2", "--model", whole)
	must.Succeed(t, json.Unmarshal([]byte(text), &filled))
	if filled.ID != 3 || len(filled.Tokens) != 4 || len(filled.Masks) != 2 ||
		!strings.HasPrefix(filled.Text, "[MAX 2 ") {
		t.Errorf("filled text %s, want 4 tokens and 2 masks", text)
	}
	for i, m := range filled.Masks {
		if m.Position != 2+i || len(m.Candidates) != 2 || m.Candidates[0].Token != filled.Tokens[2+i] ||
			!(m.Candidates[0].Probability >= m.Candidates[1].Probability) ||
			!strings.HasSuffix(filled.Text, filled.Masks[1].Candidates[0].Text) {
			t.Errorf("mask %d: want 2 candidates in order of their probability in %s", i, text)
		}
	}
	contains(t, succeed(t, `{"text":"[MAX 2 3 ]"}`, "predict", "--fill", "--model", whole), `"masks":[]`)
	if text := succeed(t, `{"text":"[MAX 2 3 ]"}`, "embed", "--model", whole); strings.Count(text, ",") < 15 {
		t.Errorf("embed: %s, want at least 16 fields", text)
	}
	done(t, "", "embed", "--model", whole, "--input", filepath.Join(data, "test.arrow"), "--output",
		filepath.Join(runs, "vectors.arrow"))
	for _, split := range []string{"val", "test"} {
		r := decode[maskedResult](t, succeed(t, "", "eval", "--json", "--model", whole,
			"--data", data, "--split", split))
		equal(t, strings.Contains(output,
			fmt.Sprintf("validation bits per token %.4f (baseline of token frequencies %.4f)",
				r.BitsPerToken, r.Frequencies)), split == "val", split, r)
	}
	page := filepath.Join(runs, "report.html")
	contains(t, done(t, "", "report", "--out", page, whole), "trained without labels")
	contains(t, readText(t, page), "selected by loss")
	var bits float64
	for _, v := range validations(t, whole) {
		if v.Best {
			bits = *v.BitsPerToken
		}
	}
	if text := readText(t, page); !strings.Contains(text, fmt.Sprintf(", %.4f bits per masked token", bits)) {
		t.Error("the report of pretraining does not show the bits per masked token")
	}
	want := fmt.Sprintf("The run started from the model in %s, which predicted masked tokens with %.4f bits each in "+
		"its validation (step ", whole, bits)
	writeReport(t, page, filepath.Join(runs, "labelled"))
	if text := readText(t, page); !strings.Contains(text, want) {
		t.Errorf("the report does not contain %q", want)
	}
	refuse(t, exitError, "expected a data set directory", "", "eval", "--model", whole, "--data",
		filepath.Join(data, "test.arrow"))
	refuse(t, exitError, "was trained without labels (sftseq pretrain)", `{"text":"1"}`, "predict", "--model", whole)
	refuse(t, exitError, "expected a model from sftseq pretrain", `{"text":"1"}`, "predict", "--fill",
		"--model", goldenPath("pre"))
}

// TestPretrainPairs checks that pretraining accepts pairs, and that its model can initialise a model of
// pairs.
func TestPretrainPairs(t *testing.T) {
	dir, lines := t.TempDir(), ""
	for i := range 60 {
		lines += fmt.Sprintf(`{"a":"abcab%d","b":"cabcabc%d","same":"%s"}`+"\n", i, i, []string{"no", "yes"}[i%2])
	}
	rows, data := filepath.Join(dir, "rows.jsonl"), filepath.Join(dir, "data")
	must.Succeed(t, os.WriteFile(rows, []byte(lines), 0o666))
	done(t, "", "data", "convert", "--from", rows, "--to", data, "--pair", "a,b", "--label", "same", "--tokenizer",
		"byte", "--no-baselines")
	out := filepath.Join(dir, "out")
	done(t, "", smallPretraining(data, out)...)
	done(t, "", "train", "custom", "--members", "sft", "--data", data, "--steps", "2", "--init-from", out, "--out",
		filepath.Join(dir, "pairs"))
}

// TestPretrainRefuses checks the errors for invalid command lines of pretrain and predict --fill.
func TestPretrainRefuses(t *testing.T) {
	data := generated(t)
	out := filepath.Join(t.TempDir(), "out")
	refuseAll(t, exitUsage, nil, []refusal{
		{"DATA is missing", []string{"pretrain", "--out", out}},
		{", expected one of them", []string{"pretrain", data, "--data", data, "--out", out}},
		{"expected one DATA", []string{"pretrain", data, data, "--out", out}},
		{"--mask-rate 1: expected 0.001 ≤ rate", smallPretraining(data, out, "--mask-rate", "1")},
		{"--mask-span 0.5: expected a mean", smallPretraining(data, out, "--mask-span", "0.5")},
		{"--mask-span 1e+300: expected a mean", smallPretraining(data, out, "--mask-span", "1e300")},
		{"--mask-rate 0: expected a number above 0", smallPretraining(data, out, "--mask-rate", "0")},
		{"--mask \"\": expected the text", []string{"predict", "--fill", "--mask", "", "--model", goldenPath("pre")}},
		{"--mask and --candidates belong to --fill", []string{"predict", "--candidates", "3",
			"--model", goldenPath("pre")}},
		{"--fill reads JSON lines, not --input", []string{"predict", "--fill", "--input", "x",
			"--model", goldenPath("pre")}},
		{"--candidates 0: expected at least 1", []string{"predict", "--fill", "--candidates", "0",
			"--model", goldenPath("pre")}},
	})
	refuse(t, exitError, "no such file or directory", "", "pretrain", filepath.Join(data, "none"), "--out", out)
	noFile(t, out)
}

// validations returns the evaluations in the metrics of a run.
func validations(t *testing.T, run string) []train.EvaluationReport {
	t.Helper()
	return must.Get(train.ReadMetrics(run))(t).Validation
}
