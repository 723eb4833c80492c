package main

import (
	"context"
	"io"

	"github.com/urfave/cli/v2"

	"github.com/sftseq/sftseq/internal/evaluation"
	"github.com/sftseq/sftseq/internal/table"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
)

// evalKind measures one kind of answer: of rows as a model scores them, or of the parts of shards.
type evalKind interface {
	// begin prepares the baselines before the rows of in are scored.
	begin(c *cli.Context, m models, in *evalRows) error
	// measure counts the rows that are scored.
	measure() evaluation.Measure
	// see is called with each row that is scored, and the number of its labels that the input window cuts off.
	see(x *seq.Example, logits []float32, cutTags int64)
	// report returns the metrics of all rows, or parts.
	report(ctx context.Context, of evaluated) (evalReport, error)
	// finish adds to the report what needs the scorer, or the data set, after the rows.
	finish(c *cli.Context, in *evalRows, r evalReport) error

	// columns are those of a part, beside row and length; values are a row's; add counts row i of a part.
	columns() []table.OutputColumn
	values(x *seq.Example, logits []float32, cutTags int64) []any
	add(p *partColumns, i int) error
}

// evalReport is what eval prints.
type evalReport interface{ write(w io.Writer) error }

func newEvalKind(c *sft.Config) evalKind {
	switch {
	case c.Tags():
		return newTagKind(c)
	case c.Predicts():
		return newNumberKind(c)
	case c.LabelsHold():
		return newLabelKind(c)
	}
	return newClassKind(c)
}

// aloneKind measures nothing beside the model.
type aloneKind struct{}

func (aloneKind) begin(*cli.Context, models, *evalRows) error      { return nil }
func (aloneKind) see(*seq.Example, []float32, int64)               {}
func (aloneKind) finish(*cli.Context, *evalRows, evalReport) error { return nil }

// runKind measures rows; what e has seen already, it still does.
func runKind(ctx context.Context, kind evalKind, e *evaluation.Evaluation, rows *seq.Reader, done func(int64)) error {
	seen, cut := e.Seen, int64(0)
	e.Measure, e.Seen = kind.measure(), func(x *seq.Example, length int, logits []float32) {
		kind.see(x, logits, e.CutTags-cut)
		cut = e.CutTags
		if seen != nil {
			seen(x, length, logits)
		}
	}
	return e.Run(ctx, rows, done)
}

// logitColumn has the logits of a row.
func logitColumn(c *sft.Config) table.OutputColumn {
	return table.OutputColumn{Name: partLogits, Kind: table.VectorColumn, Width: c.NumLabels}
}
