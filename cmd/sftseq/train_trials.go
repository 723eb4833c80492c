package main

import (
	"cmp"
	"errors"
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
	// lossAdvantage is the fraction by which the validation loss of the model that is not preferred must
	// be lower, so that betterChunks chooses this model.
	lossAdvantage = 0.02
)

// measuresChunks reports whether --chunks is chosen by measurement: for long rows of token ids that are read whole, if
// there are validation rows and no flag determines the model.
func measuresChunks(c *cli.Context, m *seq.Manifest) bool {
	for _, name := range append([]string{"input-window", "init-from", "layers"}, chunkFlagNames...) {
		if c.IsSet(name) {
			return false
		}
	}
	return m.FeatureNames == nil && m.Splits["train"].Lengths.P50 > chunkedMedian && m.Splits["val"].Rows > 0
}

// trial is a short run of a flat or a chunked model.
type trial struct {
	c     *cli.Context // flags of the run
	full  int          // steps of the whole run
	times stepTimes
	steps int // steps of the trial
}

// newTrial measures the steps of a run with a value of --chunks.
func newTrial(c *cli.Context, m *seq.Manifest, seed uint64, chunks string, within time.Duration) (x trial, err error) {
	if x.c, err = withoutStop(c); err != nil {
		return x, err
	}
	if err := x.c.Set("chunks", chunks); err != nil {
		return x, err
	}
	task := lra.CustomRun(m, runFlagsOf(x.c))
	x.full = stepsOf(&task.Presets[0].Settings, m.Splits["train"].Rows)
	measured := time.Second
	if within > 0 {
		measured = time.Duration(measuredFraction * float64(within))
	}
	x.times, err = measureSteps(x.c, task, seed, x.full, measured)
	return x, err
}

// plan sets x.steps to the number of steps that fit, with an evaluation, into the given time. It reports whether there
// are at least minSteps.
func (x *trial) plan(within time.Duration) bool {
	if x.times.step == 0 {
		return false
	}
	x.steps = min(x.full, int((within-x.times.evaluation)/x.times.step))
	return x.steps >= minSteps
}

// loss trains for the planned steps and returns the validation loss.
func (x *trial) loss(m *seq.Manifest, seed uint64) (float64, error) {
	steps := strconv.Itoa(x.steps)
	for _, f := range [][2]string{{"steps", steps}, {"eval-every", steps}, {"select", "loss"}} {
		if err := x.c.Set(f[0], f[1]); err != nil {
			return 0, err
		}
	}
	return validationLoss(x.c, lra.CustomRun(m, runFlagsOf(x.c)), seed)
}

// chooseChunks sets --chunks for long rows. It trains a flat and a chunked model for the same time each and chooses
// the better model. If the time is too short, it chooses the model with faster steps. It chooses chunks if the time of
// a step is unknown for either model, or if a flat model cannot be trained. within is the time of the whole run, or 0
// if the settings determine it. The result is the remaining time.
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
	flat, err := newTrial(c, m, seed, noChunks, time.Duration(limit))
	reason, rankErr := needsChunks(c, err)
	switch {
	case rankErr != nil:
		return 0, rankErr
	case reason != nil:
		fmt.Fprintf(c.App.ErrWriter, "%s: a model without chunks cannot be trained (%v): chunks are chosen\n", name,
			reason)
		return max(0, within-time.Since(start)), c.Set("chunks", measuredChunks)
	case err != nil:
		return 0, err
	}
	chunked, err := newTrial(c, m, seed, measuredChunks, time.Duration(limit))
	if err != nil {
		return 0, err
	}
	whole := time.Duration(flat.full) * flat.times.step
	if limit > 0 {
		whole = min(whole, time.Duration(limit))
	}
	share := time.Duration(trialFraction * float64(whole))
	chosen, result := measuredChunks, ""
	if flatFits, chunkedFits := flat.plan(share), chunked.plan(share); flatFits && chunkedFits {
		flatLoss, err := flat.loss(m, seed)
		if err != nil {
			return 0, err
		}
		chunkedLoss, err := chunked.loss(m, seed)
		if err != nil {
			return 0, err
		}
		chosen = betterChunks(flatLoss, chunkedLoss, m.Task)
		result = fmt.Sprintf("validation loss %.4f in chunks (%s), %.4f without chunks (%s)", chunkedLoss,
			countOf(chunked.steps, "step"), flatLoss, countOf(flat.steps, "step"))
	} else if flat.times.step == 0 || chunked.times.step == 0 {
		result = fmt.Sprintf("the run has too few steps (%d) to compare losses", flat.full)
	} else {
		if flat.times.step < chunked.times.step {
			chosen = noChunks
		}
		result = fmt.Sprintf("too little time to compare losses: a step takes %s in chunks, %s without chunks",
			roundStep(chunked.times.step), roundStep(flat.times.step))
	}
	verb := "are chosen"
	if chosen == noChunks {
		verb = "are not chosen"
	}
	fmt.Fprintf(c.App.ErrWriter, "%s: %s: chunks %s\n", name, result, verb)
	return max(0, within-time.Since(start)), c.Set("chunks", chosen)
}

// needsChunks returns why a model without chunks cannot be trained, if preparing its run failed
// because rows are too long for the model or for the memory. Otherwise reason is nil. The first
// rank decides, because only one rank has the typed error.
func needsChunks(c *cli.Context, prepared error) (reason, err error) {
	var length *train.LengthError
	var memory *config.MemoryError
	switch {
	case errors.As(prepared, &length):
		reason = length
	case errors.As(prepared, &memory):
		reason = memory
	}
	decision := uint64(0)
	if reason != nil {
		decision = 1
	}
	if decision, err = ranksOf(c).broadcast(decision); err != nil || decision == 0 {
		return nil, err
	}
	return cmp.Or(reason, prepared), nil
}

// prepareChoice prepares a run, as [prepare] does, before chooseChunks has chosen its chunks. It prepares a run in
// chunks if a model without chunks is not possible.
func prepareChoice(c *cli.Context, m *seq.Manifest, seed uint64) error {
	err := prepare(c, lra.CustomRun(m, runFlagsOf(c)), seed)
	if !measuresChunks(c, m) {
		return err
	}
	reason, rankErr := needsChunks(c, err)
	if reason == nil || rankErr != nil {
		return cmp.Or(rankErr, err)
	}
	if err := c.Set("chunks", measuredChunks); err != nil {
		return err
	}
	return prepare(c, lra.CustomRun(m, runFlagsOf(c)), seed)
}

// betterChunks returns the value of --chunks for the validation losses of a flat and a chunked
// model. Except for tags, chunked models are preferred, because edits take little time and rows may be
// longer. For tags, flat models are preferred: after an edit, a chunked model of tags needs about half of the
// time for the whole document, and it has no explanations.
func betterChunks(flat, chunked float64, task string) string {
	flatWins := flat < (1-lossAdvantage)*chunked
	if task == seq.Tagging {
		flatWins = chunked >= (1-lossAdvantage)*flat
	}
	if flatWins {
		return noChunks
	}
	return measuredChunks
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
