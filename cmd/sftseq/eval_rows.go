package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/sftseq/sftseq/internal/evaluation"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
)

// evalRows are the rows that a model is measured on whose answers are no classes, and what scores
// them.
type evalRows struct {
	*seq.Reader
	path, split string // split is "" where the rows are of no data set
	total       int64
	scorer      *sft.Scorer
	score       func(context.Context, []seq.Example) ([]sft.Output, error)
	release     func()
}

// openEvalRows opens them. What is asked of classes alone is refused with what the model lacks.
func openEvalRows(c *cli.Context, m *sft.Model, lacks string) (*evalRows, error) {
	for _, name := range []string{"errors", "queries"} {
		if c.IsSet(name) {
			return nil, usage(c, "--%s: %s", name, lacks)
		}
	}
	in, path, total, err := testData(c.String("data"), c.String("split"))
	if err != nil {
		return nil, err
	}
	if err := fits(m.Config, in.Spec()); err != nil {
		return nil, errors.Join(fmt.Errorf("%s does not fit the model %s: %w", path, c.String("model"), err), in.Close())
	}
	if err := checkAnswers(m.Config, in.Spec(), path); err != nil {
		return nil, errors.Join(err, in.Close())
	}
	scorer, release, err := openScorer(c, m)
	if err != nil {
		return nil, errors.Join(err, in.Close())
	}
	r := &evalRows{Reader: in, path: path, total: total, scorer: scorer, release: release}
	if path != c.String("data") {
		r.split = c.String("split")
	}
	ranks := ranksOf(c)
	if err := ranks.compare(scorer, path); err != nil {
		r.close()
		return nil, err
	}
	r.score, _ = ranks.scoring(scorer)
	return r, nil
}

// evaluation measures the rows; what it measures is up to the caller.
func (r *evalRows) evaluation() *evaluation.Evaluation {
	return &evaluation.Evaluation{Name: r.path, Scorer: r.scorer, Score: r.score}
}

func (r *evalRows) close() {
	r.release()
	r.Close()
}
