package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/sft/config"
)

// samples converts generated sound files to a data set of µ-law samples and returns its directory.
func samples(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	sounds, data := filepath.Join(dir, "sounds"), filepath.Join(dir, "data")
	must.Succeed(t, os.Mkdir(sounds, 0o777))
	for n := range 12 {
		writeText(t, filepath.Join(sounds, fmt.Sprintf("%s_%d.wav", []string{"up", "down"}[n%2], n)),
			chirp(float64(300+100*n), float64(300+900*((n+1)%2))))
	}
	done(t, "", "data", "convert", "--from", sounds, "--to", data, "--tokenizer", "mulaw", "--label", "path",
		"--label-pattern", "^(up|down)_", "--split", "0.5,0.25,0.25", "--no-baselines")
	return data
}

// TestPretrainSounds checks that pretraining on sound trains a model to predict the spectrum around a masked
// sample, quantised to a learned codebook. A resumed run writes bitwise identical weights. The model can
// initialise a classifier. With --mask-targets tokens, pretraining predicts tokens instead.
func TestPretrainSounds(t *testing.T) {
	data, runs := samples(t), t.TempDir()
	small := func(name string, flags ...string) []string {
		return smallPretraining(data, filepath.Join(runs, name),
			append([]string{"--steps", "6", "--eval-every", "3", "--input-window", "500", "--convolutions", "3"},
				flags...)...)
	}
	output := done(t, "", small("whole", "--threads", "1", "--mask-targets", "spectra:9")...)
	contains(t, output,
		"the model is trained to predict the spectrum around each masked sample: the nearest of 9 learned spectra",
		"validation bits per token", "baseline of token frequencies",
		"--mask-targets spectra:9")
	done(t, "", small("resumed", "--threads", "2", "--stop-at", "2", "--mask-targets", "spectra:9")...)
	resumed := filepath.Join(runs, "resumed")
	refuse(t, exitError, "--mask-targets tokens: the run was started with other settings (", "",
		"pretrain", "--out", resumed,
		"--resume", "--mask-targets", "tokens")
	done(t, "", "pretrain", "--out", resumed, "--resume", "--mask-targets", "spectra:9")
	whole := filepath.Join(runs, "whole")
	compareRuns(t, whole, resumed)

	cfg := func(name string) *sft.Config {
		c := must.Get(config.Read(filepath.Join(runs, name, "config.json")))(t)
		return c
	}
	if c := cfg("whole"); c.MaskTargets.Len() != 9 || c.NumLabels != 9 || c.VocabSize != 257 {
		t.Errorf("%d spectra, %d labels, vocabulary of %d; want 9, 9 and 257",
			c.MaskTargets.Len(), c.NumLabels, c.VocabSize)
	}
	r := decode[maskedResult](t, succeed(t, "", "eval", "--json", "--model", whole, "--data", data, "--split", "val"))
	if want := fmt.Sprintf("validation bits per token %.4f (baseline of token frequencies %.4f)", r.BitsPerToken,
		r.Frequencies); !strings.Contains(output, want) {
		t.Errorf("eval: %+v, want the bits per token in the output of training:\n%s", r, output)
	}
	notContains(t, done(t, "", small("more", "--init-from", whole)...), "fresh", "learned spectra")
	contains(t, done(t, "", small("other", "--init-from", whole, "--mask-targets", "spectra:5")...),
		"fresh: head.out.weight, head.out.bias")
	notContains(t, done(t, "", small("tokens", "--mask-targets", "tokens")...), "spectr")
	if c := cfg("tokens"); c.MaskTargets != nil || c.NumLabels != 256 {
		t.Errorf("--mask-targets tokens: got %d labels and spectra %v, want 256 labels and no spectra", c.NumLabels,
			c.MaskTargets)
	}
	labelled := done(t, "", "train", "custom", "--members", "sft", "--data", data, "--init-from", whole, "--out",
		filepath.Join(runs, "labelled"), "--steps", "1", "--input-window", "500")
	if want := "fresh: head.pool.weight, head.pool.bias, head.out.weight, head.out.bias"; !strings.Contains(labelled,
		want) || cfg("labelled").MaskTargets != nil {
		t.Errorf("want %q and a model without target spectra, got\n%s", want, labelled)
	}
	refuse(t, exitError, "predicts the spectrum around a masked sample", `{"tokens":[1,2,256]}`, "predict", "--fill", "--model", whole)
	refuseAll(t, exitUsage, nil, []refusal{
		{"--mask-targets \"pitch\": expected tokens, spectra or spectra:N", small("bad", "--mask-targets", "pitch")},
		{"--mask-targets \"spectra:1\": expected", small("bad", "--mask-targets", "spectra:1")},
		{"found the tokenizer listops", smallPretraining(generated(t), filepath.Join(runs, "bad"),
			"--mask-targets", "spectra")},
	})
}
