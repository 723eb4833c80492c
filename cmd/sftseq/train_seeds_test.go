package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/provenance"
	"github.com/sftseq/sftseq/sft/train"
)

// TestSeedsResumed checks that --resume starts a missing seed with the settings of the started
// seeds, and refuses other settings and other data.
func TestSeedsResumed(t *testing.T) {
	data, out := unequalData(t), filepath.Join(t.TempDir(), "runs")
	args := []string{"train", "custom", "--members", "sft", "--data", data, "--out", out, "--seeds", "1,2",
		"--hidden", "8", "--steps", "6",
		"--batch", "16", "--eval-every", "3", "--class-weights", "balanced", "--select", "loss"}
	seed := func(n string) string { return filepath.Join(out, "seed-"+n) }
	settings := func(n string) train.Settings {
		t.Helper()
		c := must.Get(train.LoadCheckpoint(seed(n)))(t)
		c.Settings.Seed = 0
		return c.Settings
	}
	done(t, "", args...)
	refuse(t, exitError, "contains a model or a run, but --seeds needs a folder for each seed in --out", "", "train",
		"custom", "--members", "sft", "--data", data, "--out", seed("1"), "--seeds", "1,2")
	want := settings("2")
	must.Succeed(t, os.RemoveAll(seed("2"))) // like a run that was stopped before seed 2
	_, errs := exits(t, exitError, "", "train", "custom", "--members", "sft", "--seeds", "1,2",
		"--out", out, "--resume")
	contains(t, errs, "seed 2 has not started", "--class-weights balanced", "hidden_size 8, not 64; ",
		"select \"loss\", not nothing; ")
	other := slices.Clone(args)
	other[slices.Index(args, data)] = unequalData(t, "--seed", "9")
	other[slices.Index(args, "1,2")] = "2,1" // the seed that has not begun comes first
	_, errs = exits(t, exitError, "", append(other, "--resume")...)
	contains(t, errs, "other data")
	noFile(t, seed("2"))
	done(t, "", append(args, "--resume")...)
	if got := settings("2"); !provenance.Same(got, want) {
		t.Errorf("trained with %+v, expected %+v", got, want)
	}
}

// TestSeedsResumption checks that the command printed by a stopped run of several seeds trains every seed to
// the end with the same settings.
func TestSeedsResumption(t *testing.T) {
	data, out := unequalData(t), filepath.Join(t.TempDir(), "runs")
	stopped, stop := context.WithCancel(t.Context())
	stop()
	var errs bytes.Buffer
	if status := run(stopped, []string{"sftseq", "train", "custom", "--members", "sft", "--data", data,
		"--out", out, "--seeds", "1,2",
		"--hidden", "8", "--steps", "4", "--class-weights", "balanced", "--lr", "0.5"}, nil,
		io.Discard, &errs); status != 1 {
		t.Fatalf("train: got status %d, want 1\n%s", status, errs.String())
	}
	command := regexp.MustCompile(`sftseq (train .*)`).FindStringSubmatch(errs.String())
	if command == nil {
		t.Fatalf("no command is printed: %s", errs.String())
	}
	done(t, "", strings.Fields(command[1])...)
	var settings []train.Settings
	for _, seed := range []string{"seed-1", "seed-2"} {
		c := must.Get(train.LoadCheckpoint(filepath.Join(out, seed)))(t)
		equal(t, c.State.Step, 4, seed)
		c.Settings.Seed = 0
		settings = append(settings, c.Settings)
	}
	if !provenance.Same(settings[0], settings[1]) || settings[0].LearningRate != 0.5 ||
		settings[0].ClassWeights == nil {
		t.Errorf("got settings %+v, want equal settings with the learning rate 0.5 and class weights", settings)
	}
}
