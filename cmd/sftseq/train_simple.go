package main

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/sftseq/sftseq/internal/task"
	"github.com/sftseq/sftseq/sft/train"
)

// baselineScores returns the validation scores of the baselines as text, or "" if unknown. The
// result better is the sentence of [task.DescribeBetterBaseline], or "". The baselines of classification
// are stored with the data set. For regression, multi-label models and tags, baselineScores measures the
// baselines. If this fails, it prints a warning.
func (r *trainRun) baselineScores(c *cli.Context) (text, better string) {
	if r.baseline != nil {
		return r.baseline.String(), task.DescribeBetterBaseline(task.Accuracies(r.baseline), r.trainer.State().Best,
			task.AsPercent)
	}
	if !ranksOf(c).first() {
		return "", ""
	}
	scores, err := task.Of(r.config).Baselines(c.Context, r.set, r.trainer.Settings().Select)
	if err != nil {
		fmt.Fprintf(c.App.ErrWriter, "warning: baselines were not measured: %v\n", err)
	}
	var texts []string
	for _, s := range scores {
		texts = append(texts, s.Text)
	}
	return strings.Join(texts, ", "), task.DescribeBetterBaseline(scores, r.modelScore(), r.showModelScore)
}

// modelScore returns the score of the saved model in the metric of the task's baselines. An unknown
// score is NaN, which does not compare as better or worse.
func (r *trainRun) modelScore() float64 {
	m, err := train.ReadMetrics(r.dir)
	if err != nil {
		return math.NaN()
	}
	i := slices.IndexFunc(m.Validation,
		func(e train.EvaluationReport) bool { return e.Step == r.trainer.State().BestStep })
	if i < 0 {
		return math.NaN()
	}
	e := &m.Validation[i]
	for _, v := range []*float64{negative(e.MAE, e.SelectedBy == "mae"), e.R2, e.InstanceIoU,
		e.SpanF1, e.MAP, e.MacroF1} {
		if v != nil {
			return *v
		}
	}
	return math.NaN()
}

// negative returns −v, or nil if v is nil or applies is false. Negated errors rank like scores: the
// largest is the best.
func negative(v *float64, applies bool) *float64 {
	if v == nil || !applies {
		return nil
	}
	return new(-*v)
}

// showModelScore formats a score returned by modelScore.
func (r *trainRun) showModelScore(v float64) string {
	return task.Of(r.config).FormatScore(v, r.trainer.Settings().Select)
}
