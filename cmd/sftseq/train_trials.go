package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/sftseq/sftseq/lra"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft/config"
	"github.com/sftseq/sftseq/sft/train"
)

// Constants of the choice between chunks and a flat model.
const (
	chunkedMedian  = 4096   // median tokens of a row above which the choice is measured
	measuredChunks = "1024" // value of --chunks that is compared with a flat model
	trialFraction  = 0.05   // fraction of the time of a run for the trial of one model
	// flatAdvantage is the fraction by which the validation loss of the flat model must be lower. The chunked model is
	// preferred otherwise, because it has exact edits in little time and no limit on the length.
	flatAdvantage = 0.02
)

// measuresChunks reports whether --chunks is chosen by measurement: for long rows of token ids that are read whole,
// unless a flag determines the model.
func measuresChunks(c *cli.Context, m *seq.Manifest) bool {
	for _, name := range append([]string{"input-window", "init-from", "layers"}, chunkFlagNames...) {
		if c.IsSet(name) {
			return false
		}
	}
	pools := (&config.Config{Task: m.Task}).Pools()
	return pools && m.FeatureNames == nil && m.Splits["train"].Lengths.P50 > chunkedMedian && m.Splits["val"].Rows > 0
}

// chooseChunks trains a flat and a chunked model for the same time each, and sets --chunks to the value of the better
// one. within is the time of the whole run, or 0 if the settings determine it. It returns the remaining time.
func chooseChunks(c *cli.Context, m *seq.Manifest, seed uint64, name string, within time.Duration) (time.Duration,
	error) {
	if !measuresChunks(c, m) {
		return within, nil
	}
	start := time.Now()
	limit, err := ranksOf(c).broadcast(uint64(within)) // ranks must agree, and their clocks differ
	if err != nil {
		return 0, err
	}
	fmt.Fprintf(c.App.ErrWriter, "%s: half of the rows have more than %d tokens: measuring whether chunks of %s "+
		"tokens improve the model (--chunks N or none skips this)\n", name, chunkedMedian, measuredChunks)
	var losses [2]float64
	var steps [2]int
	duration := time.Duration(trialFraction * float64(limit))
	for i, chunks := range []string{noChunks, measuredChunks} {
		if losses[i], steps[i], err = trialLoss(c, m, seed, chunks, &duration); err != nil {
			return 0, err
		}
	}
	chosen, verb := betterChunks(losses[0], losses[1]), "are chosen"
	if chosen == noChunks {
		verb = "are not chosen"
	}
	fmt.Fprintf(c.App.ErrWriter, "%s: validation loss %.4f in chunks (%d steps), %.4f without chunks (%d steps): "+
		"chunks %s\n", name, losses[1], steps[1], losses[0], steps[0], verb)
	return max(0, within-time.Since(start)), c.Set("chunks", chosen)
}

// betterChunks returns the value of --chunks for the validation losses of a flat and a chunked model.
func betterChunks(flat, chunked float64) string {
	if flat < (1-flatAdvantage)*chunked {
		return noChunks
	}
	return measuredChunks
}

// trialLoss returns the validation loss of a model after a short run that takes about the given duration, and its
// number of steps. If the duration is 0, it is set to a fraction of the time of a whole run.
func trialLoss(c *cli.Context, m *seq.Manifest, seed uint64, chunks string, duration *time.Duration) (loss float64,
	steps int, err error) {
	t, err := memberContext(c)
	if err == nil {
		err = t.Set("chunks", chunks)
	}
	if err != nil {
		return 0, 0, err
	}
	s := lra.CustomRun(m, runFlagsOf(t)).Presets[0].Settings
	steps = stepsOf(&s, m.Splits["train"].Rows)
	measured := time.Second
	if *duration > 0 {
		measured = time.Duration(measuredFraction / trialFraction * float64(*duration))
	}
	times, err := measureSteps(t, lra.CustomRun(m, runFlagsOf(t)), seed, steps, measured)
	if err != nil {
		return 0, 0, err
	}
	if *duration == 0 {
		*duration = time.Duration(trialFraction * float64(steps) * float64(times.step))
	}
	if times.step > 0 {
		steps = min(steps, max(minSteps, int(*duration/times.step)))
	}
	length := strconv.Itoa(steps)
	for _, f := range [][2]string{{"steps", length}, {"eval-every", length}, {"select", "loss"}} {
		if err := t.Set(f[0], f[1]); err != nil {
			return 0, 0, err
		}
	}
	loss, err = validationLoss(t, lra.CustomRun(m, runFlagsOf(t)), seed)
	return loss, steps, err
}

// validationLoss trains in a temporary directory and returns the last loss on the validation split.
func validationLoss(c *cli.Context, task *lra.Task, seed uint64) (loss float64, err error) {
	dir, err := os.MkdirTemp("", "sftseq-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	defer silence(c)()
	r, err := newTrainRun(c, task, filepath.Join(dir, "run"), seed, nil, nil)
	if err != nil {
		return 0, err
	}
	r.watch = func(event any) {
		if e, ok := event.(train.EvaluationReport); ok {
			loss = e.Loss
		}
	}
	if err := r.trainer.Run(c.Context); err != nil {
		_ = r.close(c) // the first error is returned
		return 0, err
	}
	return loss, r.close(c)
}
