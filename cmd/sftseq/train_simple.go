package main

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/sftseq/sftseq/internal/baseline"
	"github.com/sftseq/sftseq/internal/evaluation"
	"github.com/sftseq/sftseq/internal/metrics"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
)

// simple says what simple models reach on the validation split, "" where nothing is known, and which of
// them is better than the model, "" where none is. Of classes a conversion has measured it; of numbers,
// several labels and tags eval does, too, and it takes seconds. What fails there fails no run.
func (r *trainRun) simple(c *cli.Context) (text, better string) {
	if r.baseline != nil {
		return r.baseline.String(), ahead(accuracies(r.baseline), r.trainer.State().Best, asPercent)
	}
	if !ranksOf(c).first() {
		return "", ""
	}
	var said []simpleScore
	var err error
	switch config, by := r.config, r.trainer.Settings().Select; {
	case config.Predicts():
		said, err = simpleNumbers(c.Context, r.set, config, by)
	case config.LabelsHold():
		said, err = simpleLabels(r.set, config)
	case config.Tags():
		said, err = simpleTagsOf(r.set, config)
	}
	if err != nil {
		fmt.Fprintf(c.App.ErrWriter, "warning: simple models were not measured: %v\n", err)
	}
	var texts []string
	for _, s := range said {
		texts = append(texts, s.text)
	}
	return strings.Join(texts, ", "), ahead(said, r.own(), r.showOwn)
}

// own is the score of the kept model in the measure of the simple models of its task; NaN, which no
// score exceeds, where it is not known.
func (r *trainRun) own() float64 {
	m, err := sft.ReadMetrics(r.dir)
	if err != nil {
		return math.NaN()
	}
	at := slices.IndexFunc(m.Validation, func(e sft.EvaluationReport) bool { return e.Step == r.trainer.State().BestStep })
	if at < 0 {
		return math.NaN()
	}
	e := &m.Validation[at]
	for _, v := range []*float64{negative(e.MAE, e.SelectedBy == "mae"), e.R2, e.InstanceIoU, e.SpanF1, e.MAP, e.MacroF1} {
		if v != nil {
			return *v
		}
	}
	return math.NaN()
}

// negative is −v where it applies, nil otherwise: of errors the least is best.
func negative(v *float64, applies bool) *float64 {
	if v == nil || !applies {
		return nil
	}
	return new(-*v)
}

// showOwn is a score of own with the name of its measure.
func (r *trainRun) showOwn(v float64) string {
	switch {
	case r.config.Predicts() && r.trainer.Settings().Select == "mae":
		return fmt.Sprintf("MAE %.4f", -v)
	case r.config.Predicts():
		return fmt.Sprintf("R² %.4f", v)
	}
	return fmt.Sprintf("%.4f", v)
}

// eachOf calls with for the rows of the validation split, of which the model reads no more.
func eachOf(set *seq.Dataset, config *sft.Config, with func(x *seq.Example)) error {
	f, err := config.OpenSplit(set, "val")
	if err != nil {
		return err
	}
	defer f.Close()
	for i := range f.Len() {
		x, err := f.Example(i)
		if err != nil {
			return err
		}
		with(&x)
	}
	return nil
}

// simpleNumbers are the mean of the training split and a linear model.
func simpleNumbers(ctx context.Context, set *seq.Dataset, config *sft.Config, by string) ([]simpleScore, error) {
	mean := &evaluation.Numbers{Regression: metrics.NewRegression(config.NumLabels)}
	always := make([]float32, config.NumLabels) // standardised
	err := eachOf(set, config, func(x *seq.Example) {
		if x.Numbers != nil {
			mean.Count(config, x.Numbers, always)
		}
	})
	if err != nil || mean.Rows() == 0 {
		return nil, err
	}
	reached := func(mae, r2 float64, defined bool) (out string) {
		if defined {
			out += fmt.Sprintf(" R² %.4f", r2)
		}
		if by == "mae" {
			out += fmt.Sprintf(" MAE %.4f", mae)
		}
		return out
	}
	value := func(mae, r2 float64, defined bool) float64 {
		switch {
		case by == "mae":
			return -mae
		case defined:
			return r2
		}
		return math.NaN()
	}
	r2, defined := mean.R2()
	said := []simpleScore{{trainingMean, fmt.Sprintf("%s loss %.4f%s", trainingMean, mean.Loss/float64(mean.Rows()*config.NumLabels), reached(mean.MAE(), r2, defined)),
		value(mean.MAE(), r2, defined)}}
	linear, err := baseline.Ridge(ctx, set, "val", config.TruncatesAt())
	if err != nil || linear == nil {
		return said, err
	}
	mae, sum, n := 0.0, 0.0, 0
	for _, x := range linear {
		if mae += x.MAE / float64(len(linear)); x.Defined {
			sum, n = sum+x.R2, n+1
		}
	}
	if r2 := sum / float64(max(1, n)); reached(mae, r2, n > 0) != "" {
		name := baseline.RidgeName(set.Manifest)
		said = append(said, simpleScore{name, name + reached(mae, r2, n > 0), value(mae, r2, n > 0)})
	}
	return said, nil
}

// simpleLabels are the frequencies of the labels in training.
func simpleLabels(set *seq.Dataset, config *sft.Config) ([]simpleScore, error) {
	frequencies := frequenciesOf(set.Dir)
	if len(frequencies) != config.NumLabels {
		return nil, nil
	}
	always := logitsOf(frequencies)
	simple := metrics.NewMultiLabel(config.NumLabels)
	err := eachOf(set, config, func(x *seq.Example) {
		if x.Labels != nil {
			simple.Add(always, x.Labels)
		}
	})
	if err != nil || simple.Rows() == 0 {
		return nil, err
	}
	said := fmt.Sprintf("frequencies of the labels loss %.4f", simple.Loss())
	report, value := simple.Report(halves(config.NumLabels)), math.NaN()
	if report.MacroF1 != nil {
		said += fmt.Sprintf(" macro F1 %.4f", *report.MacroF1)
		value = *report.MacroF1
	}
	if report.MeanAveragePrecision != nil {
		said += fmt.Sprintf(" mean average precision %.4f", *report.MeanAveragePrecision)
		value = *report.MeanAveragePrecision
	}
	return []simpleScore{{frequenciesName, said, value}}, nil
}

// logitsOf are those of probabilities, cut where they are as good as certain.
func logitsOf(probabilities []float64) (logits []float32) {
	for _, p := range probabilities {
		logits = append(logits, float32(max(-40, min(40, math.Log(p/(1-p))))))
	}
	return logits
}

// halves are the thresholds of labels for which none was chosen.
func halves(n int) (thresholds []float64) {
	for range n {
		thresholds = append(thresholds, metrics.DefaultThreshold)
	}
	return thresholds
}

// simpleTagsOf are the most frequent tags.
func simpleTagsOf(set *seq.Dataset, config *sft.Config) (said []simpleScore, err error) {
	simple, err := newSimpleTags(set.Dir, config)
	if err != nil {
		return nil, err
	}
	err = eachOf(set, config, func(x *seq.Example) {
		if x.Labels == nil {
			return
		}
		for _, s := range simple {
			s.see(x)
		}
	})
	for _, s := range simple {
		if b := s.baseline(config); s.tally.Tokens() > 0 {
			text, value := fmt.Sprintf("%s %.2f%% macro F1 %.4f", b.Name, 100*b.Accuracy, b.MacroF1), b.MacroF1
			if b.SpanF1 != nil {
				text += fmt.Sprintf(" span F1 %.4f", *b.SpanF1)
				value = *b.SpanF1
			}
			if b.InstanceIoU != nil {
				text += fmt.Sprintf(" instance IoU %.4f", *b.InstanceIoU)
				value = *b.InstanceIoU
			}
			said = append(said, simpleScore{b.Name, text, value})
		}
	}
	return said, err
}
