package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/sftseq/sftseq/lra"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft/train"
)

// Parameters for planning the length of a run.
const (
	measuredFraction = 0.02   // fraction of the time in which steps are measured
	maxMeasuredSteps = 0.05   // maximum fraction of the run's steps that is measured
	evaluationCost   = 1. / 3 // time to predict a row relative to the time to train on it
	minSteps         = 10     // minimum steps of a planned run
)

// lengthPlan estimates the duration of runs.
type lengthPlan struct {
	task           func(steps int) *lra.Task // task of a run with a number of steps; 0 means that the data determine it
	rows           int64                     // rows of the training split
	validationRows int64                     // rows of the validation split
	times          stepTimes
}

// stepTimes are the measured times of training.
type stepTimes struct {
	step       time.Duration // time of a step on rows of mean length
	evaluation time.Duration // time of an evaluation of the validation split
}

// timeOf returns the estimated duration of a run of a number of steps, including evaluations.
func (p *lengthPlan) timeOf(steps int) time.Duration {
	s := p.task(steps).Presets[0].Settings
	evaluations := math.Ceil(float64(steps) / float64(evalEvery(&s, p.rows, p.validationRows, steps)))
	return time.Duration(float64(steps)*float64(p.times.step) + evaluations*float64(p.times.evaluation))
}

// maxSteps returns the largest number of steps s ≤ limit with timeOf(s) ≤ within. The result is at
// least minSteps unless limit is smaller.
func (p *lengthPlan) maxSteps(limit int, within time.Duration) int {
	first := min(limit, minSteps)
	return first + sort.Search(limit-first, func(i int) bool { return p.timeOf(first+i+1) > within })
}

// Evaluations of a fusion's member.
const (
	memberEvaluations = 15
	memberPatience    = 4
	minEvalEvery      = 10 // minimum steps between evaluations
)

// evalEvery returns the number of steps between evaluations of a member. A member is evaluated at
// least once per epoch and about memberEvaluations times per run, unless evaluations would then take
// more than about a quarter of the time or be less than minEvalEvery steps apart.
func evalEvery(s *train.Settings, rows, validationRows int64, steps int) int {
	epoch := int(math.Ceil(float64(rows) / float64(s.Batch)))
	every := min(epoch, int(math.Ceil(float64(steps)/memberEvaluations)))
	return max(1, minEvalEvery, every, int(validationRows)/s.Batch)
}

// stepsOf returns the number of steps of a run with the given settings and training rows.
func stepsOf(s *train.Settings, rows int64) int {
	if s.Steps > 0 {
		return s.Steps
	}
	return s.Epochs * int(math.Ceil(float64(rows)/float64(s.Batch)))
}

// plansSteps reports whether the number of steps is planned from the available time.
func plansSteps(c *cli.Context) bool { return !c.IsSet("steps") && !c.IsSet("epochs") }

// checkTime returns an error if --time is invalid.
func checkTime(c *cli.Context) error {
	switch t := c.Duration("time"); {
	case !c.IsSet("time"):
		return nil
	case t <= 0:
		return badFlag(c, "time", "more than 0, such as 5m")
	case !plansSteps(c):
		return usage(c, "--time excludes --steps and --epochs, because --time chooses the number of steps")
	}
	return nil
}

// planSteps sets --steps if a full run does not fit into the available time, and --epochs if it
// does. The command that repeats the run therefore trains for the same number of steps.
func planSteps(c *cli.Context, m *seq.Manifest, seed uint64, name string, within time.Duration) (err error) {
	remaining, err := ranksOf(c).broadcast(uint64(within)) // ranks must agree, and their clocks differ
	if err != nil {
		return err
	}
	within = time.Duration(remaining)
	flags := runFlagsOf(c)
	p := &lengthPlan{rows: m.Splits["train"].Rows, validationRows: m.Splits["val"].Rows,
		task: func(steps int) *lra.Task {
			flags.Steps = steps
			return lra.CustomRun(m, flags)
		}}
	defaults := p.task(0).Presets[0].Settings
	fullSteps := stepsOf(&defaults, p.rows)
	if p.times, err = measureSteps(c, p.task(0), seed, fullSteps,
		time.Duration(measuredFraction*float64(within))); err != nil {
		return err
	}
	within -= time.Duration(measuredFraction * float64(within))
	within -= p.times.evaluation // fitting the weights scores the validation split once more
	if p.times.step == 0 || p.timeOf(fullSteps) <= within {
		fmt.Fprintf(c.App.ErrWriter, "%s: %s\n", name, countOf(fullSteps, "step"))
		return c.Set("epochs", strconv.Itoa(defaults.Epochs))
	}
	steps := p.maxSteps(fullSteps, within)
	limit := fmt.Sprintf("fit into the remaining %s", within.Round(time.Second))
	if steps == minSteps {
		limit = "are the minimum"
	}
	fmt.Fprintf(c.App.ErrWriter, "%s: %d of %d steps of about %s %s\n", name, steps, fullSteps,
		roundStep(p.times.step), limit)
	return c.Set("steps", strconv.Itoa(steps))
}

// roundStep rounds the time of a step for output.
func roundStep(d time.Duration) time.Duration {
	if d > time.Second {
		return d.Round(100 * time.Millisecond)
	}
	return d.Round(100 * time.Microsecond)
}

// measureSteps trains in a temporary directory, and measures the steps after the first one. It ends after
// the given duration, after the fraction maxMeasuredSteps of the given steps (at least one step), or at the
// first evaluation. The returned times are 0 if the run ends before its speed is known. All ranks return
// times computed from the first rank's speed.
func measureSteps(c *cli.Context, task *lra.Task, seed uint64, steps int, duration time.Duration) (p stepTimes,
	err error) {
	dir, err := os.MkdirTemp("", "sftseq-")
	if err != nil {
		return p, err
	}
	defer os.RemoveAll(dir)
	defer silence(c)()
	if c, err = withoutStop(c); err != nil {
		return p, err
	}
	r, err := newTrainRun(c, task, filepath.Join(dir, "run"), seed, nil, nil)
	if err != nil {
		return p, err
	}
	ctx, stop := context.WithCancel(c.Context)
	defer stop()
	w := &stepTimer{duration: duration, maxSteps: 1 + max(1, int(maxMeasuredSteps*float64(steps))), stop: stop}
	r.watch = w.observe
	if err = r.trainer.Run(ctx); errors.Is(err, context.Canceled) && c.Context.Err() == nil {
		err = nil
	}
	perToken := w.perToken()
	train, validation, tokensErr := r.tokens()
	if err = errors.Join(err, tokensErr, r.close(c)); err != nil {
		return p, err
	}
	bits, err := ranksOf(c).broadcast(math.Float64bits(perToken))
	if err != nil {
		return p, err
	}
	perToken = math.Float64frombits(bits)
	return stepTimes{step: time.Duration(perToken * train),
		evaluation: time.Duration(evaluationCost * perToken * validation)}, nil
}

// withoutStop returns a copy of the context without --stop-at, because the flag must not end a measurement.
func withoutStop(c *cli.Context) (*cli.Context, error) {
	out, err := memberContext(c)
	if err == nil {
		err = out.Set("stop-at", "0")
	}
	return out, err
}

// prepare prepares a run in a temporary directory and discards it. It returns the errors that a real
// run reports before its first step.
func prepare(c *cli.Context, task *lra.Task, seed uint64) error {
	dir, err := os.MkdirTemp("", "sftseq-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	defer silence(c)()
	r, err := newTrainRun(c, task, filepath.Join(dir, "run"), seed, nil, nil)
	if err != nil {
		return err
	}
	return r.close(c)
}

// silence discards the output of a discarded run, because the real run prints its settings and
// warnings again. It returns a function that restores the output.
func silence(c *cli.Context) (restore func()) {
	stderr, stdout := c.App.ErrWriter, c.App.Writer
	c.App.ErrWriter, c.App.Writer = io.Discard, io.Discard
	return func() { c.App.ErrWriter, c.App.Writer = stderr, stdout }
}

// tokens returns the mean number of tokens per batch, and the number of tokens of the validation
// split.
func (r *trainRun) tokens() (batch, validation float64, err error) {
	total := func(split string) (sum float64, rows int) {
		f, failed := r.config.OpenSplit(r.set, split)
		if failed != nil {
			err = failed
			return 0, 1
		}
		defer f.Close()
		for _, n := range f.Lengths() {
			sum += float64(n)
		}
		return sum, f.Len()
	}
	train, rows := total("train")
	validation, _ = total("val")
	return train / float64(rows) * float64(r.trainer.Settings().Batch), validation, err
}

// stepTimer measures the steps of a run, and stops the run after enough measurements.
type stepTimer struct {
	duration time.Duration
	maxSteps int
	stop     func()

	start                  time.Time // end of the first step, which is slower than later steps
	elapsed                time.Duration
	steps                  int
	intervalTokens, tokens int // tokens of the current interval, and since the first step
}

func (w *stepTimer) observe(event any) {
	var tokens int
	switch e := event.(type) {
	case train.State:
		tokens = e.Interval.Tokens - w.intervalTokens
		w.intervalTokens = e.Interval.Tokens
	case train.StepReport:
		tokens, w.intervalTokens = e.Tokens-w.intervalTokens, 0
	case train.EvaluationProgress:
		w.stop()
		return
	default:
		return
	}
	if w.steps++; w.steps == 1 {
		w.start = time.Now()
		return
	}
	w.tokens, w.elapsed = w.tokens+tokens, time.Since(w.start)
	if w.elapsed >= w.duration || w.steps >= w.maxSteps {
		w.stop()
	}
}

// perToken returns the training time per token in nanoseconds, or 0 if unknown.
func (w *stepTimer) perToken() float64 {
	if w.tokens == 0 {
		return 0
	}
	return float64(w.elapsed) / float64(w.tokens)
}
