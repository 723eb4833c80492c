package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
)

func TestKillsOfTraining(t *testing.T) {
	killRuns(t, 1, small)
}

// TestKillsOfPretraining kills pretraining runs. The masked tokens depend only on seed, row and
// step, so a resumed run equals an uninterrupted run.
func TestKillsOfPretraining(t *testing.T) {
	killRuns(t, 6, func(data, out string) []string {
		return smallPretraining(data, out, "--steps", "90", "--token-deletion", "0.1")
	})
}

// killRuns kills runs at random moments and resumes each run with another number of threads and
// another memory limit. The final weights and metrics equal those of an uninterrupted run.
func killRuns(t *testing.T, seed uint64, flags func(data, out string) []string) {
	program := built(t)
	data := smallData(t)
	whole, resumed := filepath.Join(t.TempDir(), "whole"), filepath.Join(t.TempDir(), "resumed")
	took := timed(t, program, flags(data, whole)...)
	k := newKiller(t, seed)
	next := func(more ...string) []string {
		args := append(flags(data, resumed), more...)
		if _, err := os.Stat(filepath.Join(resumed, "last", "checkpoint.safetensors")); err == nil {
			args = append(args, "--resume")
		} // else the run was killed before its first checkpoint and starts again
		return args
	}
	runs := 0
	for try := 0; k.wantsMore(t); try++ {
		if k.run(t, took/2, program, next("--threads", []string{"1", "2", "3"}[try%3], "--memory",
			[]string{"400MiB", "4GiB"}[try%2])...) {
			runs++
			compareRuns(t, whole, resumed)
			must.Succeed(t, os.RemoveAll(resumed))
		}
	}
	timed(t, program, next()...)
	compareRuns(t, whole, resumed)
	t.Logf("%d runs equal the uninterrupted run", runs+1)
}
