package task

import (
	"context"

	"github.com/sftseq/sftseq/internal/baseline"
	"github.com/sftseq/sftseq/internal/evaluation"
	"github.com/sftseq/sftseq/internal/report"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
)

// Page measures a model and fills its section of a report.
type Page struct {
	Evaluator
	// Seen is called with each row and its length before truncation; nil means no call.
	Seen func(x *seq.Example, length int, logits []float32)
	// Fill adds the task's section to a run after all rows have been measured.
	Fill func(ctx context.Context, scorer *sft.Scorer, run *report.Run) error

	begin func() error // called before the first row; may be nil
}

// PageInput describes the rows that a model is measured on.
type PageInput struct {
	Path, Name string
	Note       string // note for readers of the report, or ""
	Dir, Split string // data set and split, if the rows are from a data set
	Rows       int64  // 0 if unknown
	Examples   int    // number of rows of each kind to show
	// Baseline returns the classification baselines, or nil if the rows have none.
	Baseline func() (*baseline.Result, error)
}

func (in PageInput) evaluated() Evaluated {
	return Evaluated{Data: in.Dir, Split: in.Split, File: in.Path}
}

// Run measures the rows and adds the section to a run of the report.
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
