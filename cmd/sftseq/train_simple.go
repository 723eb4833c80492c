package main

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/sftseq/sftseq/internal/baseline"
	"github.com/sftseq/sftseq/internal/task"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/sft/train"
)

// baselineScores returns the validation scores of the baselines as text, or "" if unknown. The
// result better is the sentence of [task.DescribeBetterBaseline], or "".
func (r *trainRun) baselineScores(c *cli.Context) (text, better string) {
	scores, text := validationBaselines(c, r.set, r.baseline, r.config, r.trainer.Settings().Select)
	if r.baseline != nil {
		return text, task.DescribeBetterBaseline(scores, r.trainer.State().Best, task.AsPercent)
	}
	return text, task.DescribeBetterBaseline(scores, r.modelScore(), r.showModelScore)
}

// validationBaselines returns the validation scores of the baselines, and their text. stored has the
// baselines of classification, or is nil. For regression, multi-label models and tags, validationBaselines
// measures the baselines in the metric. If this fails, it prints a warning.
func validationBaselines(c *cli.Context, set *seq.Dataset, stored *baseline.Result, config *sft.Config,
	metric string) (scores []task.Score, text string) {
	if stored != nil {
		return task.Accuracies(stored), stored.String()
	}
	if !ranksOf(c).first() {
		return nil, ""
	}
	scores, err := task.Of(config).Baselines(c.Context, set, metric)
	if err != nil {
		fmt.Fprintf(c.App.ErrWriter, "warning: baselines were not measured: %v\n", err)
	}
	var texts []string
	for _, s := range scores {
		texts = append(texts, s.Text)
	}
	return scores, strings.Join(texts, ", ")
}

// compareBaselines returns the lines with the validation scores of the baselines and, if a baseline is at
// least as good as the model in dir, with a comparison and advice. accuracy is the validation accuracy of
// the model, which is linear or a fusion, or NaN if unknown.
func compareBaselines(c *cli.Context, set *seq.Dataset, dir string, accuracy float64) (scored, compared string) {
	model := dir
	if f, err := sft.ReadFusion(dir); err == nil && f != nil {
		model = filepath.Join(dir, f.Members[0])
	}
	config, err := sft.ReadModelConfig(model)
	if err != nil {
		fmt.Fprintf(c.App.ErrWriter, "warning: baselines were not measured: %v\n", err)
		return "", ""
	}
	stored := storedBaseline(c, set, "val", noBaselinesShown)
	scores, text := validationBaselines(c, set, stored, config, "")
	if text != "" {
		scored = fmt.Sprintf("validation baselines: %s\n", text)
	}
	if model == dir {
		scores = task.WithoutNGrams(scores)
	}
	if better := task.DescribeBetterBaseline(scores, accuracy, task.AsPercent); stored != nil && better != "" {
		compared = fmt.Sprintf("on the validation split %s%s\n", better, advice(config, dir, 0, false))
	}
	return scored, compared
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
