package task

import (
	"context"

	"github.com/sftseq/sftseq/internal/baseline"
	"github.com/sftseq/sftseq/internal/evaluation"
	"github.com/sftseq/sftseq/internal/report"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
)

// Page measures a model for a report.
type Page struct {
	Evaluator
	// Seen is called with each row and its length before an input window cut it; nil for none.
	Seen func(x *seq.Example, length int, logits []float32)
	// Fill adds the section of the task to a run, when all rows have been seen.
	Fill func(ctx context.Context, scorer *sft.Scorer, run *report.Run) error

	begin func() error // nil for none
}

// PageInput describes the rows that a model is measured on.
type PageInput struct {
	Path, Name string
	Note       string // for readers; "" for none
	Dir, Split string // the data set, if the rows are of one
	Rows       int64  // 0 if unknown
	Examples   int    // rows of each kind to show
	// Baseline measures the baselines of classes; nil for none.
	Baseline func() (*baseline.Result, error)
}

func (in PageInput) evaluated() Evaluated {
	return Evaluated{Data: in.Dir, Split: in.Split, File: in.Path}
}

// Run measures the rows, and adds the section to a run of the report.
func (p *Page) Run(ctx context.Context, e *evaluation.Evaluation, rows *seq.Reader,
	done func(int64), run *report.Run) error {
	if p.begin != nil {
		if err := p.begin(); err != nil {
			return err
		}
	}
	e.Seen = p.Seen
	if err := Run(ctx, p.Evaluator, e, rows, done); err != nil {
		return err
	}
	return p.Fill(ctx, e.Scorer, run)
}
