package main

import (
	"os"
	"path/filepath"
	"testing"
)

// TestKillsOfTraining kills runs at random moments and goes on each time with other threads
// and memory: weights and metrics equal those of a run that was left alone.
func TestKillsOfTraining(t *testing.T) {
	program := built(t)
	data := smallData(t, program)
	whole, torn := filepath.Join(t.TempDir(), "whole"), filepath.Join(t.TempDir(), "torn")
	took := timed(t, program, small(data, whole)...)
	k := newKiller(t, 1)
	runs := 0
	for try := 0; k.goesOn(t); try++ {
		args := small(data, torn)
		if _, err := os.Stat(filepath.Join(torn, "last", "checkpoint.safetensors")); err == nil {
			args = append(args, "--resume")
		} // else it was killed before it had begun, and begins
		args = append(args, "--threads", []string{"1", "2", "3"}[try%3], "--memory", []string{"400MiB", "4GiB"}[try%2])
		if k.run(t, took/2, program, args...) {
			runs++
			compareRuns(t, whole, torn)
			if err := os.RemoveAll(torn); err != nil {
				t.Fatal(err)
			}
		}
	}
	args := small(data, torn)
	if _, err := os.Stat(filepath.Join(torn, "last", "checkpoint.safetensors")); err == nil {
		args = append(args, "--resume")
	}
	timed(t, program, args...)
	compareRuns(t, whole, torn)
	t.Logf("%d runs equal one that was left alone", runs+1)
}
