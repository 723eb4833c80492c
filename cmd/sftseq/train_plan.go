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
	measuredPart    = 0.02   // fraction of the time in which steps are measured
	measuredSteps   = 0.05   // maximum fraction of the run's steps that is measured
	evaluationShare = 1. / 3 // time to predict a row relative to the time to train on it
	minSteps        = 10
)

// lengthPlan estimates the duration of runs.
type lengthPlan struct {
	task   func(steps int) *lra.Task // task of a run with a number of steps; 0 means that the data determine it
	rows   int64                     // rows of the training split
	judged int64                     // rows of the validation split
	pace   pace
}

// pace is the measured speed of training.
type pace struct {
	step       time.Duration // time of a step on rows of mean length
	evaluation time.Duration // time of an evaluation of the validation split
}

// timeOf returns the duration of a run of a number of steps, including evaluations.
func (p *lengthPlan) timeOf(steps int) time.Duration {
	s := p.task(steps).Presets[0].Settings
	evaluations := math.Ceil(float64(steps) / float64(evalEvery(&s, p.rows, p.judged, steps)))
	return time.Duration(float64(steps)*float64(p.pace.step) + evaluations*float64(p.pace.evaluation))
}

// steps returns the maximum number of steps, at most all, of a run that fits into a duration.
func (p *lengthPlan) steps(all int, within time.Duration) int {
	first := min(all, minSteps)
	return first + sort.Search(all-first, func(i int) bool { return p.timeOf(first+i+1) > within })
}

// Evaluations of a fusion's member.
const (
	memberEvaluations = 15
	memberPatience    = 4
	minBetween        = 10 // minimum steps between evaluations
)

// evalEvery returns the number of steps between evaluations of a member. It evaluates at least once
// per epoch and at least memberEvaluations times per run, but limits evaluations to about a quarter
// of the time.
func evalEvery(s *train.Settings, rows, judged int64, steps int) int {
	epoch := int(math.Ceil(float64(rows) / float64(s.Batch)))
	every := min(epoch, int(math.Ceil(float64(steps)/memberEvaluations)))
	return max(1, minBetween, every, int(judged)/s.Batch)
}

// stepsOf returns the number of steps of a run with the given settings and training rows.
func stepsOf(s *train.Settings, rows int64) int {
	if s.Steps > 0 {
		return s.Steps
	}
	return s.Epochs * int(math.Ceil(float64(rows)/float64(s.Batch)))
}

// planned reports whether the number of steps is planned from the available time.
func planned(c *cli.Context) bool { return !c.IsSet("steps") && !c.IsSet("epochs") }

// checkTime returns an error if --time is invalid.
func checkTime(c *cli.Context) error {
	switch t := c.Duration("time"); {
	case !c.IsSet("time"):
		return nil
	case t <= 0:
		return usage(c, "--time %v, expected a duration such as 5m", t)
	case !planned(c):
		return usage(c, "--time and --steps or --epochs exclude each other: --time chooses the number of steps")
	}
	return nil
}

// planSteps sets --steps if a full run does not fit into the available time, and --epochs if it
// does. The command that repeats the run therefore has the same length.
func planSteps(c *cli.Context, m *seq.Manifest, seed uint64, name string, within time.Duration) (err error) {
	remaining, err := ranksOf(c).ofFirst(uint64(within)) // ranks must agree, and their clocks differ
	if err != nil {
		return err
	}
	within = time.Duration(remaining)
	flags := runFlagsOf(c)
	p := &lengthPlan{rows: m.Splits["train"].Rows, judged: m.Splits["val"].Rows, task: func(steps int) *lra.Task {
		flags.Steps = steps
		return lra.CustomRun(m, flags)
	}}
	chosen := p.task(0).Presets[0].Settings
	all := stepsOf(&chosen, p.rows)
	if p.pace, err = measurePace(c, p.task(0), seed, all, time.Duration(measuredPart*float64(within))); err != nil {
		return err
	}
	within -= time.Duration(measuredPart * float64(within))
	within -= p.pace.evaluation // fitting the weights scores the validation split once more
	if p.pace.step == 0 || p.timeOf(all) <= within {
		fmt.Fprintf(c.App.ErrWriter, "%s: %d steps\n", name, all)
		return c.Set("epochs", strconv.Itoa(chosen.Epochs))
	}
	steps := p.steps(all, within)
	fmt.Fprintf(c.App.ErrWriter, "%s: %d of %d steps of about %s fit into the remaining %s\n", name, steps, all,
		roundStep(p.pace.step), within.Round(time.Second))
	return c.Set("steps", strconv.Itoa(steps))
}

func roundStep(d time.Duration) time.Duration {
	if d > time.Second {
		return d.Round(100 * time.Millisecond)
	}
	return d.Round(100 * time.Microsecond)
}

// measurePace trains for a while in a temporary directory. The result is 0 if the run ends before
// its speed is known. All ranks return the measurement of the first rank.
func measurePace(c *cli.Context, task *lra.Task, seed uint64, steps int, during time.Duration) (p pace, err error) {
	dir, err := os.MkdirTemp("", "sftseq-")
	if err != nil {
		return p, err
	}
	defer os.RemoveAll(dir)
	shown, wrote := c.App.ErrWriter, c.App.Writer // the real run prints its settings and warnings
	c.App.ErrWriter, c.App.Writer = io.Discard, io.Discard
	defer func() { c.App.ErrWriter, c.App.Writer = shown, wrote }()
	r, err := newTrainRun(c, task, filepath.Join(dir, "run"), seed, nil)
	if err != nil {
		return p, err
	}
	ctx, stop := context.WithCancel(c.Context)
	defer stop()
	w := &paceWatch{during: during, steps: 1 + max(1, int(measuredSteps*float64(steps))), stop: stop}
	r.watch = w.observe
	if err = r.trainer.Run(ctx); errors.Is(err, context.Canceled) && c.Context.Err() == nil {
		err = nil
	}
	perToken := w.perToken()
	train, judged, failed := r.tokens()
	if err = errors.Join(err, failed, r.close(c)); err != nil {
		return p, err
	}
	bits, err := ranksOf(c).ofFirst(math.Float64bits(perToken))
	if err != nil {
		return p, err
	}
	perToken = math.Float64frombits(bits)
	return pace{step: time.Duration(perToken * train),
		evaluation: time.Duration(evaluationShare * perToken * judged)}, nil
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

// paceWatch measures the steps of a run, and stops the run after enough measurements.
type paceWatch struct {
	during time.Duration
	steps  int
	stop   func()

	began         time.Time // end of the first step, which is slower than later steps
	took          time.Duration
	done          int
	before, since int // tokens of the current interval, and since the first step
}

func (w *paceWatch) observe(event any) {
	var tokens int
	switch e := event.(type) {
	case train.State:
		tokens = e.Interval.Tokens - w.before
		w.before = e.Interval.Tokens
	case train.StepReport:
		tokens, w.before = e.Tokens-w.before, 0
	case train.EvaluationProgress:
		w.stop()
		return
	default:
		return
	}
	if w.done++; w.done == 1 {
		w.began = time.Now()
		return
	}
	w.since, w.took = w.since+tokens, time.Since(w.began)
	if w.took >= w.during || w.done >= w.steps {
		w.stop()
	}
}

// perToken returns the training time per token in nanoseconds, or 0 if unknown.
func (w *paceWatch) perToken() float64 {
	if w.since == 0 {
		return 0
	}
	return float64(w.took) / float64(w.since)
}
