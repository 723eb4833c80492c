package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/provenance"
	"github.com/sftseq/sftseq/internal/testenv"
	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/sft/config"
)

// TestAdviceCommand checks that the commands suggested by advice repeat the run's own command with
// changed flags, even if the model's directory is not the one of --out, or has spaces and quotes.
func TestAdviceCommand(t *testing.T) {
	for out, dir := range map[string]string{
		"runs/a-again":                     "runs/a",
		"runs/a-again/seed-1":              "runs/a/seed-1",
		"'/my runs/it'\\''s-again/seed-1'": "/my runs/it's/seed-1",
	} {
		config := &sft.Config{
			Encoder: config.Encoder{HiddenSize: 8, NumLayers: 2},
			Sampler: config.Sampler{NumSampledTokens: 16},
		}
		p := &provenance.Provenance{Command: "sftseq train custom --seed 1 --data d --hidden 8 --out " + out +
			" --steps 6"}
		must.Succeed(t, p.Store(config))
		want := "; try: sftseq train custom --seed 1 --data d --steps 6 --hidden 16 --layers 3 --k 32 --out " +
			shellQuote(dir+"-wide") +
			"; or: sftseq train custom --data d --hidden 8 --steps 6 --seeds 1,2,3 --out " + shellQuote(dir+"-three")
		if got := advice(config, dir, 0, false); got != want {
			t.Errorf("%s\nwant %s", got, want)
		}
		p.Settings.Steps = 6
		must.Succeed(t, p.Store(config))
		want = "; the last evaluation was the best: train longer first, for example without --steps: sftseq train " +
			"custom --seed 1 --data d --hidden 8 --out " + shellQuote(dir+"-longer")
		if got := advice(config, dir, 0, true); got != want {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
}

// TestAdviceOfEval checks that eval of regression and tagging models names a better baseline at the
// end and suggests commands, like eval of classifiers.
func TestAdviceOfEval(t *testing.T) {
	testenv.NoRace(t, "trains with code that the tests of package train cover; its baselines are slow")
	jsonl, _ := sentences(80)
	for want, data := range map[string]string{
		"bag of tokens, ridge regression (R² ": tableData(t, "t.csv", motifRows(80, 24), "--text", "sequence",
			"--numbers", "length", "--tokenizer", "dna:1", "--split", "0.6,0.2,0.2"),
		"tag of each token (span F1 ": tableData(t, "t.jsonl", jsonl, "--text", "text", "--spans", "spans",
			"--tokenizer", "words:99", "--split", "0.6,0.2,0.2"),
	} {
		run := filepath.Join(t.TempDir(), "run")
		runCustom(t, data, run, "--steps", "1", "--device", "cpu")
		output := strings.Split(strings.TrimSpace(printed(t, "", "eval", "--model", run, "--data", data,
			"--device", "cpu")), "\n")
		contains(t, output[len(output)-1], want, " is better than the model (", "; the last evaluation was the best: "+
			"train longer first, for example without --steps: sftseq train custom --preset quick --seed 1 "+
			"--members sft --data "+data)
	}
}
