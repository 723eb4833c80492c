package main

import (
	"context"
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/sftseq/sftseq/internal/evaluation"
	"github.com/sftseq/sftseq/internal/metrics"
	"github.com/sftseq/sftseq/internal/table"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
)

// classKind measures the classes of rows, and of pairs ranks documents, too.
type classKind struct {
	aloneKind
	config    *sft.Config
	tally     *metrics.Tally
	documents *evaluation.Documents
	queries   int
}

func newClassKind(c *sft.Config) *classKind {
	return &classKind{config: c, tally: metrics.NewTally(c.NumLabels)}
}

func (k *classKind) begin(c *cli.Context, m models, in *evalRows) error {
	k.documents = evaluation.NewDocuments(in.scorer, in.embed)
	if k.queries = c.Int("queries"); !evaluation.CanRank(k.config) || !m.alone() {
		k.queries = 0
	}
	if k.queries > 0 {
		in.score = k.documents.Score
	}
	return nil
}

func (k *classKind) measure() evaluation.Measure { return evaluation.Classes{Tally: k.tally} }

func (k *classKind) report(_ context.Context, of evaluated) (evalReport, error) {
	of.Data = of.rowsIn()
	r := k.tally.Report()
	if r == nil {
		return nil, fmt.Errorf("%s: no rows that were measured, at least 1 was expected", of.Data)
	}
	return newEvalResult(of, r, k.config.LabelNames), nil
}

func (k *classKind) finish(c *cli.Context, in *evalRows, report evalReport) (err error) {
	r := report.(*evalResult)
	if r.Ranking, err = rank(c.Context, k.documents, k.queries); err != nil {
		return fmt.Errorf("%s: %w", in.path, err)
	}
	r.Baseline = testBaseline(c, c.String("data"), c.String("split"))
	return nil
}

func (k *classKind) columns() []table.OutputColumn {
	return []table.OutputColumn{{Name: partLabel, Kind: table.IntColumn}, logitColumn(k.config)}
}

func (k *classKind) values(x *seq.Example, logits []float32, _ int64) []any {
	return []any{int64(x.Label), logits}
}

func (k *classKind) add(p *partColumns, i int) error {
	return k.tally.Add(int(p.whole(partLabel, i)), p.vector(partLogits, i), int(p.whole(partLength, i)))
}
