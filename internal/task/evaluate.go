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

// Evaluator measures a model of a task, from rows that the model scores or from parts, the files with
// the results of the shards of eval.
type Evaluator interface {
	// Begin prepares baselines or the ranking of documents, before the rows are scored.
	Begin(in *Input) error
	// Measure returns the measure that counts the scored rows.
	Measure() evaluation.Measure
	// See is called with each scored row. cutTags is the number of the row's labels beyond the
	// input window.
	See(x *seq.Example, logits []float32, cutTags int64)
	// Report returns the metrics of all rows or parts.
	Report(ctx context.Context, of Evaluated) (Report, error)
	// Finish adds to the report the results that need the scorer or the data set.
	Finish(ctx context.Context, in *Input, r Report) error

	// Columns returns the columns of a part, besides id, row, length and error. Values returns a row's
	// values for these columns. Add counts row i of a part.
	Columns() []table.OutputColumn
	Values(x *seq.Example, logits []float32, cutTags int64) []any
	Add(p *PartColumns, i int) error
}

// Report is the output of eval.
type Report interface{ Write(w io.Writer) error }

// Input has an evaluator's inputs besides the rows.
type Input struct {
	Data    string // directory of the data set, or a file
	Path    string // file with the rows
	Queries int    // maximum number of queries for which the documents of pairs are ranked
	Scorer  *sft.Scorer
	Score   func(context.Context, []seq.Example) ([]sft.Output, error) // Begin may replace it
	Embed   evaluation.Embed
	Ranking func(queries int) (done func()) // shows progress; done is called after each query, concurrently
	// Baseline returns the classification baselines stored with the data set, or nil.
	Baseline func() *baseline.Result
}

// Evaluated describes the model and the rows of an evaluation.
type Evaluated struct {
	Model string `json:"model"`
	Data  string `json:"data"`
	Split string `json:"split,omitempty"` // split of a data set
	Trained
	Members []MemberScore `json:"members,omitempty"` // results of the members of a fusion and of their sum

	File   string `json:"-"` // file with the rows; "" for the parts of shards
	Advice string `json:"-"` // commands to try if a baseline is at least as good as the model
	Linear bool   `json:"-"` // whether the model is linear, like the n-gram baselines
}

// MemberScore is the result of one member of a fusion, or of the sum of all members.
type MemberScore struct {
	Name   string  `json:"name"`
	Weight float64 `json:"weight,omitempty"` // 0 for the sum
	metrics.FusionScore
}

// rowsIn returns the location of the rows, for errors.
func (e Evaluated) rowsIn() string { return cmp.Or(e.File, e.Data) }

// Title returns the first line of a report.
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

// Trained describes the training of a model or an ensemble. Step and Unfinished are zero if no checkpoint of
// a training run is found.
type Trained struct {
	Models     int  `json:"models,omitempty"`     // size of an ensemble; omitted for one model
	Step       int  `json:"step,omitempty"`       // training step of a single model
	Unfinished bool `json:"unfinished,omitempty"` // training has not ended

	EndedAtBest bool `json:"-"` // the last evaluation of a single model was its best
}

// baseEvaluator has methods Begin, See and Finish that do nothing.
type baseEvaluator struct{}

func (baseEvaluator) Begin(*Input) error                           { return nil }
func (baseEvaluator) See(*seq.Example, []float32, int64)           {}
func (baseEvaluator) Finish(context.Context, *Input, Report) error { return nil }

// Run measures rows with the evaluator. It also calls e.Seen if it is set.
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

// logitColumn returns the column with a row's logits.
func logitColumn(c *sft.Config) table.OutputColumn {
	return table.OutputColumn{Name: partLogits, Kind: table.VectorColumn, Width: c.NumLabels}
}

// text collects the lines of a report.
type text struct{ bytes.Buffer }

func (t *text) add(format string, args ...any) { fmt.Fprintf(t, format+"\n", args...) }

func (t *text) writeTo(w io.Writer) error {
	_, err := w.Write(t.Bytes())
	return err
}

// countRows formats a number of rows.
func countRows[N int | int64](n N) string {
	if n == 1 {
		return "1 row"
	}
	return fmt.Sprintf("%d rows", n)
}
