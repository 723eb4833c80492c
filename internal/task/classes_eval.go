package task

import (
	"context"
	"fmt"

	"github.com/sftseq/sftseq/internal/evaluation"
	"github.com/sftseq/sftseq/internal/metrics"
	"github.com/sftseq/sftseq/internal/report"
	"github.com/sftseq/sftseq/internal/table"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
)

// classEvaluator measures predicted classes. It also ranks documents if [evaluation.CanRank] allows it.
type classEvaluator struct {
	baseEvaluator
	config    *sft.Config
	tally     *metrics.Tally
	documents *evaluation.Documents
	queries   int
}

func newClassEvaluator(c *sft.Config) *classEvaluator {
	return &classEvaluator{config: c, tally: metrics.NewTally(c.NumLabels)}
}

func (k *classEvaluator) Begin(in *Input) error {
	k.documents = evaluation.NewDocuments(in.Scorer, in.Embed)
	if k.queries = in.Queries; !evaluation.CanRank(k.config) {
		k.queries = 0
	}
	if k.queries > 0 {
		in.Score = k.documents.Score
	}
	return nil
}

func (k *classEvaluator) Measure() evaluation.Measure { return evaluation.Classes{Tally: k.tally} }

func (k *classEvaluator) Report(_ context.Context, evaluated Evaluated) (Report, error) {
	evaluated.Data = evaluated.rowsIn()
	r := k.tally.Report()
	if r == nil {
		return nil, fmt.Errorf("%s: found no evaluated rows, expected at least 1", evaluated.Data)
	}
	return newClassesResult(evaluated, r, k.config.LabelNames), nil
}

func (k *classEvaluator) Finish(ctx context.Context, in *Input, report Report) (err error) {
	r := report.(*ClassesResult)
	if r.Ranking, err = k.documents.Rank(ctx, k.queries, in.Ranking); err != nil {
		return fmt.Errorf("%s: %w", in.Path, err)
	}
	r.Baseline = in.Baseline()
	return nil
}

func (k *classEvaluator) Columns() []table.OutputColumn {
	return []table.OutputColumn{{Name: partLabel, Kind: table.IntColumn}, logitColumn(k.config)}
}

func (k *classEvaluator) Values(x *seq.Example, logits []float32, _ int64) []any {
	return []any{int64(x.Label), logits}
}

func (k *classEvaluator) Add(p *PartColumns, i int) error {
	return k.tally.Add(int(p.integer(partLabel, i)), p.vector(partLogits, i), int(p.integer(PartLength, i)))
}

// Evaluator returns an evaluator of classes.
func (t classes) Evaluator() Evaluator { return newClassEvaluator(t.config) }

// Page returns a page that measures classes and explains some rows.
func (t classes) Page(in PageInput) *Page {
	k, pick := newClassEvaluator(t.config), evaluation.NewPicker(t.config.NumLabels, in.Examples)
	return &Page{Evaluator: k, Seen: pick.See, Fill: func(ctx context.Context, scorer *sft.Scorer,
		run *report.Run) (err error) {
		out := &report.Results{Data: in.Name, Note: in.Note, Report: k.tally.Report(), Curves: k.tally.Curves()}
		if out.Report == nil {
			return fmt.Errorf("%s: found no rows, expected at least 1", in.Path)
		}
		if out.Baseline, err = in.Baseline(); err != nil {
			return err
		}
		out.Examples, err = pick.Explain(ctx, scorer, in.Path)
		run.Results = out
		return err
	}}
}
