package task

import (
	"context"
	"fmt"
	"math"
	"os"

	"github.com/sftseq/sftseq/internal/evaluation"
	"github.com/sftseq/sftseq/internal/metrics"
	"github.com/sftseq/sftseq/internal/report"
	"github.com/sftseq/sftseq/internal/table"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
)

// labelEvaluator measures the predictions of a multi-label model.
type labelEvaluator struct {
	baseEvaluator
	config          *sft.Config
	tally, baseline *metrics.MultiLabel
	frequencyLogits []float32 // logits of the labels' frequencies in training; nil if unknown
}

func newLabelEvaluator(c *sft.Config) *labelEvaluator {
	return &labelEvaluator{config: c, tally: metrics.NewMultiLabel(c.NumLabels),
		baseline: metrics.NewMultiLabel(c.NumLabels)}
}

func (k *labelEvaluator) Begin(in *Input) error {
	k.frequencyLogits = logitsOf(frequenciesOf(in.Data))
	return nil
}

func (k *labelEvaluator) Measure() evaluation.Measure { return evaluation.Labels{MultiLabel: k.tally} }

func (k *labelEvaluator) See(x *seq.Example, _ []float32, _ int64) {
	if k.frequencyLogits != nil {
		k.baseline.Add(k.frequencyLogits, x.Labels)
	}
}

func (k *labelEvaluator) Report(_ context.Context, evaluated Evaluated) (Report, error) {
	return k.result(evaluated)
}

// result returns the metrics of the model with its thresholds, and the metrics of the baseline.
func (k *labelEvaluator) result(evaluated Evaluated) (*LabelsResult, error) {
	if k.tally.Rows() == 0 {
		return nil, fmt.Errorf("%s: found no evaluated rows, expected at least 1", evaluated.rowsIn())
	}
	thresholds := make([]float64, k.config.NumLabels)
	for i := range thresholds {
		thresholds[i] = k.config.Threshold(i)
	}
	r := &LabelsResult{Evaluated: evaluated, MultiLabelReport: k.tally.Report(thresholds)}
	for i := range r.Labels {
		r.Labels[i].Name = fmt.Sprint(k.config.Label(i))
	}
	if k.frequencyLogits != nil {
		r.frequencies = k.baseline.Report(halves(k.config.NumLabels))
		r.Frequencies = &LabelsBaseline{r.frequencies.MicroF1, r.frequencies.MacroF1,
			r.frequencies.MeanAveragePrecision, r.frequencies.ExactMatch}
	}
	return r, nil
}

func (k *labelEvaluator) Columns() []table.OutputColumn {
	return []table.OutputColumn{{Name: partLabels, Kind: table.ListColumn}, logitColumn(k.config)}
}

func (k *labelEvaluator) Values(x *seq.Example, logits []float32, _ int64) []any {
	return []any{x.Labels, logits}
}

func (k *labelEvaluator) Add(p *PartColumns, i int) error {
	labels := p.list(partLabels, i)
	if err := k.config.CheckLabels(labels); err != nil {
		return err
	}
	k.tally.Add(p.vector(partLogits, i), labels)
	return nil
}

// Evaluator returns an evaluator of multi-label predictions.
func (t labels) Evaluator() Evaluator { return newLabelEvaluator(t.config) }

// Page returns a page that measures multi-label predictions.
func (t labels) Page(in PageInput) *Page {
	k := newLabelEvaluator(t.config)
	k.frequencyLogits = logitsOf(frequenciesOf(in.Dir))
	return &Page{Evaluator: k, Fill: func(_ context.Context, _ *sft.Scorer, run *report.Run) error {
		r, err := k.result(in.evaluated())
		if err != nil {
			return err
		}
		run.Labels = &report.Labels{Data: in.Name, Note: in.Note, Report: r.MultiLabelReport,
			Frequencies: r.frequencies}
		if t.config.NumLabels > metrics.MaxConfusion {
			return nil // the points of more curves would take gigabytes
		}
		for label := range t.config.NumLabels {
			if curve := k.tally.Curve(label); curve != nil {
				run.Labels.Curves = append(run.Labels.Curves, *curve)
			}
		}
		return nil
	}}
}

// frequenciesName is the name of the multi-label baseline.
const frequenciesName = "the frequencies of the labels"

// Baselines returns the score of predicting each label's frequency in the training split.
func (t labels) Baselines(_ context.Context, set *seq.Dataset, _ string) ([]Score, error) {
	config := t.config
	frequencies := frequenciesOf(set.Dir)
	if len(frequencies) != config.NumLabels {
		return nil, nil
	}
	logits := logitsOf(frequencies)
	baseline := metrics.NewMultiLabel(config.NumLabels)
	err := forEachRow(set, config, func(x *seq.Example) {
		if x.Labels != nil {
			baseline.Add(logits, x.Labels)
		}
	})
	if err != nil || baseline.Rows() == 0 {
		return nil, err
	}
	text := fmt.Sprintf("frequencies of the labels loss %.4f", baseline.Loss())
	report, value := baseline.Report(halves(config.NumLabels)), math.NaN()
	if report.MacroF1 != nil {
		text += fmt.Sprintf(" macro F1 %.4f", *report.MacroF1)
		value = *report.MacroF1
	}
	if report.MeanAveragePrecision != nil {
		text += fmt.Sprintf(" mean average precision %.4f", *report.MeanAveragePrecision)
		value = *report.MeanAveragePrecision
	}
	return []Score{{frequenciesName, text, value}}, nil
}

// logitsOf returns the logits of probabilities, clipped to ±40.
func logitsOf(probabilities []float64) (logits []float32) {
	for _, p := range probabilities {
		logits = append(logits, float32(max(-40, min(40, math.Log(p/(1-p))))))
	}
	return logits
}

// halves returns the default threshold for each of n labels.
func halves(n int) (thresholds []float64) {
	for range n {
		thresholds = append(thresholds, metrics.DefaultThreshold)
	}
	return thresholds
}

// frequenciesOf returns each label's frequency in the training split of a data set, or nil if
// unknown.
func frequenciesOf(path string) []float64 {
	if info, err := os.Stat(path); err != nil || !info.IsDir() {
		return nil
	}
	set, err := seq.OpenDataset(path)
	if err != nil {
		return nil // the data set was replaced after its rows were opened
	}
	train := set.Manifest.Splits["train"]
	rows := float64(train.Rows - train.Labels[seq.Unlabelled])
	if rows <= 0 {
		return nil
	}
	var out []float64
	for _, name := range set.Manifest.LabelNames {
		out = append(out, float64(train.Labels[name])/rows)
	}
	return out
}
