package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/sftseq/sftseq/internal/evaluation"
	"github.com/sftseq/sftseq/internal/metrics"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
)

// labelsResult is what eval prints of a model of several labels.
type labelsResult struct {
	evaluated
	*metrics.MultiLabelReport
	// Frequencies is what the training split's frequencies reach, which know nothing of a row: a
	// label is answered that at least half of its rows have. Absent where these are not known.
	Frequencies *labelsBaseline `json:"baseline_frequencies,omitempty"`

	tally  *metrics.MultiLabel       // of the model
	simple *metrics.MultiLabelReport // of the frequencies
}

// labelsBaseline is what a simple model reaches on several labels.
type labelsBaseline struct {
	MicroF1              *float64 `json:"micro_f1"`
	MacroF1              *float64 `json:"macro_f1"`
	MeanAveragePrecision *float64 `json:"mean_average_precision"`
	ExactMatch           float64  `json:"exact_match"`
}

// mostLabels is how many labels are printed.
const mostLabels = 30

func (r *labelsResult) write(w io.Writer) error {
	out := &lines{w: w}
	out.add("%s: %d rows, loss %.4f", r.title(), r.Rows, r.Loss)
	head := fmt.Sprintf("%-24s  %10s", "", "model")
	if r.Frequencies != nil {
		head += "  frequencies of training"
	}
	out.add("%s", head)
	row := func(name string, of func(b *labelsBaseline) string) {
		line := fmt.Sprintf("%-24s  %10s", name, of(&labelsBaseline{r.MicroF1, r.MacroF1, r.MeanAveragePrecision, r.ExactMatch}))
		if r.Frequencies != nil {
			line += fmt.Sprintf("  %23s", of(r.Frequencies))
		}
		out.add("%s", line)
	}
	row("micro F1", func(b *labelsBaseline) string { return defined(b.MicroF1) })
	row("macro F1", func(b *labelsBaseline) string { return defined(b.MacroF1) })
	row("mean average precision", func(b *labelsBaseline) string { return defined(b.MeanAveragePrecision) })
	row("all labels right", func(b *labelsBaseline) string { return fmt.Sprintf("%.2f%%", 100*b.ExactMatch) })
	out.add("%-20s  %8s  %8s  %9s  %9s  %9s  %8s  %17s", "label", "rows", "answered", "threshold", "precision", "recall", "F1", "average precision")
	shown := slices.SortedStableFunc(slices.Values(r.Labels), func(a, b metrics.LabelReport) int { return cmp.Compare(b.Rows, a.Rows) })
	for _, k := range shown[:min(len(shown), mostLabels)] {
		out.add("%-20s  %8d  %8d  %9.4f  %9s  %9s  %8s  %17s", k.Name, k.Rows, k.Answered, k.Threshold, defined(k.Precision), defined(k.Recall), defined(k.F1), defined(k.AveragePrecision))
	}
	if more := len(shown) - mostLabels; more > 0 {
		out.add("and %d labels of fewer rows (--json has all)", more)
	}
	switch b := r.Frequencies; {
	case out.err != nil || b == nil:
		return out.err
	case r.MeanAveragePrecision != nil:
		return r.advise(w, []simpleScore{{name: frequenciesName, value: orNaN(b.MeanAveragePrecision)}}, *r.MeanAveragePrecision, named("mean average precision"))
	default:
		return r.advise(w, []simpleScore{{name: frequenciesName, value: orNaN(b.MacroF1)}}, orNaN(r.MacroF1), named("macro F1"))
	}
}

// frequenciesName is the baseline of several labels.
const frequenciesName = "the frequencies of the labels"

// defined is a number as a person reads it.
func defined(v *float64) string {
	if v == nil {
		return "none"
	}
	return fmt.Sprintf("%.4f", *v)
}

// evalLabels measures how well a model tells which labels of rows hold.
func evalLabels(c *cli.Context, m models) error {
	in, err := openEvalRows(c, m)
	if err != nil {
		return err
	}
	defer in.close()
	r := &labelsResult{evaluated: in.evaluated(c)}
	err = in.measure(c, func(e *evaluation.Evaluation, rows *seq.Reader, done func(int64)) error {
		return r.measure(c.Context, e, rows, frequenciesOf(r.Data), done)
	})
	if err == nil {
		err = in.wrong.commit(c)
	}
	if err != nil {
		return err
	}
	return show(c, r, r.write)
}

// frequenciesOf are the parts of the rows of the training split of a data set that have each
// label; nil where they are not known.
func frequenciesOf(path string) []float64 {
	if info, err := os.Stat(path); err != nil || !info.IsDir() {
		return nil
	}
	set, err := seq.OpenDataset(path)
	if err != nil {
		return nil // the rows have been read: it was replaced meanwhile
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

// measure reads all rows.
func (r *labelsResult) measure(ctx context.Context, e *evaluation.Evaluation, in *seq.Reader, frequencies []float64, done func(int64)) error {
	config, seen := e.Scorer.Config(), e.Seen
	tally, simple := metrics.NewMultiLabel(config.NumLabels), metrics.NewMultiLabel(config.NumLabels)
	always := logitsOf(frequencies)
	e.Measure, e.Seen = evaluation.Labels{MultiLabel: tally}, func(x *seq.Example, length int, logits []float32) {
		if frequencies != nil {
			simple.Add(always, x.Labels)
		}
		if seen != nil {
			seen(x, length, logits)
		}
	}
	if err := e.Run(ctx, in, done); err != nil {
		return err
	}
	if err := r.report(config, tally, e.Name); err != nil || frequencies == nil {
		return err
	}
	r.simple = simple.Report(halves(config.NumLabels))
	r.Frequencies = &labelsBaseline{r.simple.MicroF1, r.simple.MacroF1, r.simple.MeanAveragePrecision, r.simple.ExactMatch}
	return nil
}

// report says what the model reaches with its thresholds.
func (r *labelsResult) report(config *sft.Config, tally *metrics.MultiLabel, path string) error {
	if tally.Rows() == 0 {
		return fmt.Errorf("%s: no rows that were measured, at least 1 was expected", path)
	}
	thresholds := make([]float64, config.NumLabels)
	for i := range thresholds {
		thresholds[i] = config.Threshold(i)
	}
	r.tally = tally
	r.MultiLabelReport = tally.Report(thresholds)
	for i := range r.Labels {
		r.Labels[i].Name = fmt.Sprint(config.Label(i))
	}
	return nil
}
