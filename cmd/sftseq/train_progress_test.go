package main

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/sftseq/sftseq/sft/train"
)

// TestRemainingTime checks that a progress bar and plain lines show the trainer's estimate of the
// remaining time.
func TestRemainingTime(t *testing.T) {
	remaining := func() (time.Duration, bool) { return 90*time.Second + time.Millisecond, true }
	for _, bar := range []bool{false, true} {
		var out strings.Builder
		p := newTrainProgress(&out)
		p.steps, p.timeLeft, p.lastLine = 4, remaining, time.Now()
		if bar {
			p.bar = newTrainBar(&out, p.steps)
		}
		p.observe(train.StepReport{Step: 4, Loss: 1, TokensPerS: 12345})
		if text := out.String(); !strings.Contains(text, "12.3k tokens/s  1m30s left") {
			t.Errorf("bar %v: got %q, want the speed and the remaining time", bar, text)
		}
	}
}

// TestLongRunWarning checks that a run of days prints a warning once, with its first estimate. With the
// preset paper, the warning names faster presets.
func TestLongRunWarning(t *testing.T) {
	for _, c := range []struct {
		remaining time.Duration
		paper     bool
		want      string
	}{
		{96 * time.Hour, true, "warning: at this speed the run takes about 4 days: the preset paper needs a GPU " +
			"(use quick or hour on two cores)\n"},
		{30 * time.Hour, false, "warning: at this speed the run takes about 30h0m\n"},
		{23 * time.Hour, true, ""},
	} {
		var out strings.Builder
		p := newTrainProgress(&out)
		known := false
		p.steps, p.paper, p.timeLeft, p.lastLine = 400, c.paper,
			func() (time.Duration, bool) { return c.remaining, known }, time.Now()
		p.observe(train.StepReport{Step: 0})
		known = true
		p.observe(train.StepReport{Step: 1})
		p.observe(train.StepReport{Step: 2})
		equal(t, out.String(), c.want, c.remaining)
	}
}

// TestBestLongAgo checks that train reports a best model from the first half of the run, and how
// much one row of a small validation split contributes to the accuracy.
func TestBestLongAgo(t *testing.T) {
	data, dir := customData(t, "--label", "mood"), t.TempDir()
	train := func(name string, flags ...string) (out, errs string) {
		args := append([]string{"train", "custom", "--members", "sft", "--data", data, "--out",
			filepath.Join(dir, name), "--hidden", "8",
			"--eval-every", "1", "--lr", "1e-30"}, flags...)
		return exits(t, exitOK, "", args...)
	}
	const want = "the saved model is from step 1: none of the 5 later evaluations was better"
	out, errs := train("long", "--steps", "6", "--patience", "0")
	contains(t, out, want+" (end such runs earlier with --patience N)\n")
	if !regexp.MustCompile(`validation has only \d+ rows, so one row changes the accuracy by \d+\.\d percentage ` +
		"points\n").MatchString(errs) {
		t.Errorf("got errors\n%swant the effect of one row on the accuracy", errs)
	}
	hasPrefix(t, succeed(t, "", "eval", "--model", filepath.Join(dir, "long"), "--data", data),
		filepath.Join(dir, "long")+" at step 1 on "+filepath.Join(data, "test.arrow")+" (split test)\n")
	if out, _ := train("patient", "--steps", "9", "--patience", "5"); !strings.Contains(out,
		"stopped early at step 6 of 9: none of the last 5 evaluations was better (--patience 0 ") {
		t.Errorf("got output\n%swant that the run stopped early at step 6 of 9", out)
	}
	if out, _ := train("short", "--steps", "3"); strings.Contains(out, "the saved model is from step") {
		t.Errorf("got output\n%swant no step of the saved model after 3 evaluations", out)
	}
}
