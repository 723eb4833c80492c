package main

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/sft/config"
)

// TestRanksOfMembers checks that several ranks write the same models as one process. The first rank
// trains the linear model and fits the weights of the fusion. All ranks train the transformer, for the
// number of steps that the first rank planned.
func TestRanksOfMembers(t *testing.T) {
	program := built(t)
	data := proseData(t, 200)
	train := func(out string, more ...string) []string {
		return append([]string{"train", "custom", "--data", data, "--out", out, "--hidden", "8", "--layers", "1",
			"--device", "cpu", "--seed", "1"}, more...)
	}
	whole := filepath.Join(t.TempDir(), "whole")
	timed(t, program, train(whole, "--steps", "12")...)
	for launcher := range launchers {
		out := filepath.Join(t.TempDir(), "out")
		text, err := runWithin(t, mpirun(t, launcher, 2, append([]string{program}, train(out, "--steps", "12")...)...),
			2*time.Minute)
		if err != nil {
			t.Fatalf("%s: %v\n%s", launcher, err, text)
		}
		sameFusion(t, whole, out, "lexical")
		planned := filepath.Join(t.TempDir(), "planned")
		text, err = runWithin(t, mpirun(t, launcher, 2, append([]string{program}, train(planned, "--time", "3s",
			"--batch", "2")...)...), 2*time.Minute)
		if err != nil {
			t.Fatalf("%s: %v\n%s", launcher, err, text)
		}
		contains(t, text, "linear: validation", "lexical: validation", "members on the validation split")
	}
}

// TestRanksOfTooLongRows checks that all ranks choose chunks for a row that a model without chunks cannot read,
// although only one rank receives the error about the length of the row.
func TestRanksOfTooLongRows(t *testing.T) {
	program, data := built(t), tooLongRows(t)
	for launcher := range launchers {
		out := filepath.Join(t.TempDir(), "out")
		text, err := runWithin(t, mpirun(t, launcher, 2, program, "train", "custom", "--members", "linear,lexical",
			"--hidden", "8", "--k", "4", "--steps", "2", "--device", "cpu", "--data", data, "--out", out), 2*time.Minute)
		if err != nil {
			t.Fatalf("%s: %v\n%s", launcher, err, text)
		}
		m := must.Get(config.Read(filepath.Join(out, "lexical", "config.json")))(t)
		equal(t, formatChunks(m.Chunks), measuredChunks)
		return // one launcher suffices
	}
}
