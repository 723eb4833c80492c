package main

import (
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/metrics"
	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/provenance"
	"github.com/sftseq/sftseq/internal/testenv"
	"github.com/sftseq/sftseq/sft"
)

// TestAdviceCommand: the commands that advice names are the run's own with other flags, wherever it
// was written to.
func TestAdviceCommand(t *testing.T) {
	for out, dir := range map[string]string{
		"runs/a-again":                     "runs/a",
		"runs/a-again/seed-1":              "runs/a/seed-1",
		"'/my runs/it'\\''s-again/seed-1'": "/my runs/it's/seed-1",
	} {
		config := &sft.Config{HiddenSize: 8, NumLayers: 2, NumSampledTokens: 16}
		p := &provenance.Provenance{Command: "sftseq train custom --seed 1 --data d --hidden 8 --out " + out + " --steps 6"}
		must.Succeed(t, p.Store(config))
		want := "; try: sftseq train custom --seed 1 --data d --steps 6 --hidden 16 --layers 3 --k 32 --out " + shellQuote(dir+"-wide") +
			"; or: sftseq train custom --data d --hidden 8 --steps 6 --seeds 1,2,3 --out " + shellQuote(dir+"-three")
		if got := advice(config, dir, 0); got != want {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
}

// TestAdviceOfEval: eval of numbers and tags ends with the baseline that is better than a model that has
// learned nothing, and with commands to try, as eval of classes does.
func TestAdviceOfEval(t *testing.T) {
	testenv.NoRace(t, "trains as TestTrain does; its baselines are slow loops")
	jsonl, _ := sentences(80)
	for want, data := range map[string]string{
		"bag of tokens, ridge regression (R² ": tableData(t, "t.csv", motifRows(80, 24), "--text", "sequence", "--numbers", "length", "--tokenizer", "dna:1", "--split", "0.6,0.2,0.2"),
		"tag of each token (span F1 ":          tableData(t, "t.jsonl", jsonl, "--text", "text", "--spans", "spans", "--tokenizer", "words:99", "--split", "0.6,0.2,0.2"),
	} {
		run := filepath.Join(t.TempDir(), "run")
		runCustom(t, data, run, "--steps", "1", "--device", "cpu")
		said := strings.Split(strings.TrimSpace(printed(t, "", "eval", "--model", run, "--data", data, "--device", "cpu")), "\n")
		contains(t, said[len(said)-1], want, " is better than the model (", "; try: sftseq train custom --preset quick --seed 1 --data "+data)
	}
}

// TestAdviceOfResults: the closing line compares the model with the best baseline in the main measure of its
// task.
func TestAdviceOfResults(t *testing.T) {
	score := func(v float64) *float64 { return &v }
	of := evaluated{Model: "m", Data: "d", advice: "; try: x"}
	numbers := func(own, mean, linear float64) *numbersResult {
		return &numbersResult{evaluated: of, R2: &own, linear: "a linear model",
			Numbers: []numberResult{{R2: &own, Mean: baselineNumber{R2: &mean}, Linear: &baselineNumber{R2: &linear}}, {}}}
	}
	labels := func(own, precision *float64) *labelsResult {
		return &labelsResult{evaluated: of, MultiLabelReport: &metrics.MultiLabelReport{MeanAveragePrecision: own, MacroF1: score(0.5)},
			Frequencies: &labelsBaseline{MeanAveragePrecision: precision, MacroF1: score(0.6)}}
	}
	tags := func(own float64) *tagsResult {
		return &tagsResult{evaluated: of, tagScores: tagScores{Spans: &metrics.SpanScore{F1Score: metrics.F1Score{F1: own}}},
			Baselines: []tagBaseline{{Name: "often", SpanF1: score(0.2)}, {Name: "each", SpanF1: score(0.4)}}}
	}
	parts := &tagsResult{evaluated: of, tagScores: tagScores{Parts: &partScores{InstanceIoU: 0.3}},
		Baselines: []tagBaseline{{Name: "often", InstanceIoU: score(0.4), ClassIoU: score(0.4)}}}
	for _, x := range []struct {
		result interface{ write(io.Writer) error }
		want   string
	}{
		{numbers(0.5, 0, 0.75), "a linear model (R² 0.7500) is better than the model (R² 0.5000); try: x"},
		{numbers(-1, 0, -2), "mean of the training split (R² 0.0000) is better than the model (R² -1.0000); try: x"},
		{numbers(0.8, 0, 0.75), ""},
		{labels(score(0.3), score(0.4)), "the frequencies of the labels (mean average precision 0.4000) is better than the model (mean average precision 0.3000); try: x"},
		{labels(score(0.5), score(0.4)), ""},
		{labels(nil, nil), "the frequencies of the labels (macro F1 0.6000) is better than the model (macro F1 0.5000); try: x"},
		{tags(0.3), "each (span F1 0.4000) is better than the model (span F1 0.3000); try: x"},
		{tags(0.41), ""},
		{tags(0.4), "the model (span F1 0.4000) is no better than each (span F1 0.4000); try: x"},
		{parts, "often (instance IoU 0.4000) is better than the model (instance IoU 0.3000); try: x"},
	} {
		var out strings.Builder
		must.Succeed(t, x.result.write(&out))
		if x.want == "" {
			notContains(t, out.String(), "better", "try:")
		} else if !strings.HasSuffix(out.String(), "\n\n"+x.want+"\n") {
			t.Errorf("want the last line %s in\n%s", x.want, out.String())
		}
	}
}
