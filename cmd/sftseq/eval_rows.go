package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/urfave/cli/v2"

	"github.com/sftseq/sftseq/internal/baseline"
	"github.com/sftseq/sftseq/internal/evaluation"
	"github.com/sftseq/sftseq/internal/provenance"
	"github.com/sftseq/sftseq/internal/task"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/sft/config"
)

// evalRows holds the rows on which eval measures a model, and the scorer.
type evalRows struct {
	*seq.Reader
	path, split string // split is "" if --data is a file
	total       int64  // number of rows; 0 if unknown
	scorer      *sft.Scorer
	score       func(context.Context, []seq.Example) ([]sft.Output, error)
	embed       evaluation.Embed
	mistakes    *evalErrors // nil without --errors, and on all ranks except the first
	release     func()
	linear      bool         // all models are linear
	members     *memberTally // nil if members are not measured
}

// openEvalRows opens the rows, and creates the file of --errors.
func openEvalRows(c *cli.Context, m models) (*evalRows, error) {
	if c.IsSet("queries") && c.Int("queries") > 0 && !evaluation.CanRank(m.Config) {
		return nil, usage(c, "--queries %d: the model %s has the task %s and %d outputs, expected %s with 2 classes",
			c.Int("queries"), givenModel(c), m.Config.Task, m.Config.NumLabels, config.Retrieval)
	}
	in, path, total, err := openTestData(c)
	if err != nil {
		return nil, err
	}
	if err := checkRows(m.Config, in.Spec(), path, givenModel(c)); err != nil {
		return nil, errors.Join(err, in.Close())
	}
	scorer, release, err := openScorer(c, m)
	if err != nil {
		return nil, errors.Join(err, in.Close())
	}
	r := &evalRows{Reader: in, path: path, total: total, scorer: scorer, release: release, linear: m.isLinear()}
	if path != c.String("data") {
		r.split = c.String("split")
		warnTrainedOn(c, m)
	}
	ranks := ranksOf(c)
	if err := ranks.compare(scorer, path); err != nil {
		r.close()
		return nil, err
	}
	if ranks.first() {
		if r.mistakes, err = newEvalErrors(c, m.Config, path, in.Spec()); err != nil {
			r.close()
			return nil, err
		}
	}
	r.score, r.embed = ranks.scoreFunctions(scorer)
	if ranks == nil && m.fusion != nil && !m.isSingle() {
		r.members = newMemberTally(m.fusion, scorer)
		r.score = r.members.score
	}
	return r, nil
}

// warnTrainedOn warns if a model was trained on the evaluated split, unless the split is train.
func warnTrainedOn(c *cli.Context, m models) {
	set, err := seq.OpenDataset(c.String("data"))
	if err != nil {
		return
	}
	split := c.String("split")
	for _, model := range m.list() {
		p, err := provenance.Of(model.Config) // an error for a model of another program
		if err == nil && slices.Contains(p.TrainedOn, split) && split != "train" && p.Data == set.Fingerprint() {
			fmt.Fprintf(c.App.ErrWriter, "warning: a linear model was also trained on the split %s, so its results "+
				"are too optimistic "+
				"(evaluate with --split test)\n", split)
		}
	}
}

// evaluatorInput returns the inputs of an evaluator besides the rows.
func (r *evalRows) evaluatorInput(c *cli.Context, m models) *task.Input {
	data := c.String("data")
	in := &task.Input{Data: data, Path: r.path, Scorer: r.scorer, Score: r.score, Embed: r.embed,
		Ranking:  rankingProgress(),
		Baseline: func() *baseline.Result { return testBaseline(c, data, c.String("split")) }}
	if m.isSingle() {
		in.Queries = c.Int("queries")
	}
	return in
}

// rankingProgress returns a function that starts a progress bar for n queries and returns done, which
// must be called after each query.
func rankingProgress() func(n int) (done func()) {
	var p *progress
	return func(n int) func() {
		p = newProgress(int64(n), "ranking", "queries")
		var ranked atomic.Int64 // queries are ranked concurrently
		return func() {
			p.Add(1)
			if ranked.Add(1) == int64(n) {
				p.Finish()
			}
		}
	}
}

// measure evaluates the rows with a progress bar.
func (r *evalRows) measure(c *cli.Context, evaluator task.Evaluator, in *task.Input) error {
	p := newProgress(r.total, "evaluating", "rows")
	defer p.Finish()
	e := &evaluation.Evaluation{Name: r.path, Scorer: r.scorer, Score: in.Score, Seen: r.mistakes.seen()}
	return task.Run(c.Context, evaluator, e, r.Reader, p.Add)
}

// evaluated describes the evaluation. It must be called before the rows are scored, because a training
// run in progress may write another checkpoint later.
func (r *evalRows) evaluated(c *cli.Context) task.Evaluated {
	dir := c.String("model")
	e := task.Evaluated{Model: givenModel(c), Data: c.String("data"), Split: r.split, Trained: trainedIn(dir),
		File: r.path, Linear: r.linear}
	if !isBuiltin(c) {
		e.Advice = advice(r.scorer.Config(), dir, 0, e.EndedAtBest)
	}
	return e
}

func (r *evalRows) close() {
	r.mistakes.abort()
	r.release()
	r.Close()
}
