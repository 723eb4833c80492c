package task

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"

	"github.com/sftseq/sftseq/internal/baseline"
	"github.com/sftseq/sftseq/internal/evaluation"
	"github.com/sftseq/sftseq/internal/metrics"
	"github.com/sftseq/sftseq/internal/table"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
)

// Evaluator measures a task: of rows as a model scores them, or of the parts of shards.
type Evaluator interface {
	// Begin prepares the baselines before the rows of in are scored.
	Begin(in *Input) error
	// Measure counts the rows that are scored.
	Measure() evaluation.Measure
	// See is called with each row that is scored, and the number of its labels that the input window cuts off.
	See(x *seq.Example, logits []float32, cutTags int64)
	// Report returns the metrics of all rows, or parts.
	Report(ctx context.Context, of Evaluated) (Report, error)
	// Finish adds to the report what needs the scorer, or the data set, after the rows.
	Finish(ctx context.Context, in *Input, r Report) error

	// Columns are those of a part, beside row and length; Values are a row's; Add counts row i of a part.
	Columns() []table.OutputColumn
	Values(x *seq.Example, logits []float32, cutTags int64) []any
	Add(p *PartColumns, i int) error
}

// Report is what eval prints.
type Report interface{ Write(w io.Writer) error }

// Input is what an evaluator may use beside the rows.
type Input struct {
	Data    string // the data set's directory, or a file
	Path    string // the file with the rows
	Queries int    // for which the documents of pairs are ranked
	Scorer  *sft.Scorer
	Score   func(context.Context, []seq.Example) ([]sft.Output, error) // Begin may replace it
	Embed   evaluation.Embed
	Ranking func(queries int) (done func()) // shows progress
	// Baseline returns the baselines of classes that are stored with the data set; nil for none.
	Baseline func() *baseline.Result
}

// Evaluated says which model was measured on which rows.
type Evaluated struct {
	Model string `json:"model"`
	Data  string `json:"data"`
	Split string `json:"split,omitempty"` // split of a data set
	Trained
	Members []MemberScore `json:"members,omitempty"` // results of the members of a fusion, and of their sum

	File   string `json:"-"` // file with the rows; "" for the parts of shards
	Advice string `json:"-"` // commands to try where a baseline is better than the model
	Linear bool   `json:"-"` // the model is linear, as the baseline of n-grams is
}

// MemberScore is the result of a member of a fusion, or of the sum.
type MemberScore struct {
	Name   string  `json:"name"`
	Weight float64 `json:"weight,omitempty"` // 0 of the sum
	metrics.FusionScore
}

// rowsIn says where the rows are.
func (e Evaluated) rowsIn() string { return cmp.Or(e.File, e.Data) }

// Title is how a report begins.
func (e Evaluated) Title() string {
	text := e.Model
	if e.Models > 0 {
		text += fmt.Sprintf(" (%d models together)", e.Models)
	}
	if e.Step > 0 {
		text += fmt.Sprintf(" at step %d", e.Step)
	}
	if e.Unfinished {
		text += " (training has not ended)"
	}
	text += " on " + e.Data
	if e.Split != "" {
		text += fmt.Sprintf(" (split %s)", e.Split)
	}
	return text
}

// Trained says which weights of its run a model has; of a model without its run nothing.
type Trained struct {
	Models     int  `json:"models,omitempty"`     // size of an ensemble; omitted for one model
	Step       int  `json:"step,omitempty"`       // training step of a single model
	Unfinished bool `json:"unfinished,omitempty"` // training has not ended
}

// aloneEvaluator measures nothing beside the model.
type aloneEvaluator struct{}

func (aloneEvaluator) Begin(*Input) error                           { return nil }
func (aloneEvaluator) See(*seq.Example, []float32, int64)           {}
func (aloneEvaluator) Finish(context.Context, *Input, Report) error { return nil }

// Run measures rows; what e has seen already, it still does.
func Run(ctx context.Context, kind Evaluator, e *evaluation.Evaluation, rows *seq.Reader, done func(int64)) error {
	seen, cut := e.Seen, int64(0)
	e.Measure, e.Seen = kind.Measure(), func(x *seq.Example, length int, logits []float32) {
		kind.See(x, logits, e.CutTags-cut)
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

// text collects the lines of a report.
type text struct{ bytes.Buffer }

func (t *text) add(format string, args ...any) { fmt.Fprintf(t, format+"\n", args...) }

func (t *text) to(w io.Writer) error {
	_, err := w.Write(t.Bytes())
	return err
}
