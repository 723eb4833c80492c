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
	"github.com/sftseq/sftseq/internal/table"
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

// labelKind measures how well a model predicts which labels of rows hold.
type labelKind struct {
	aloneKind
	config        *sft.Config
	tally, simple *metrics.MultiLabel
	frequent      []float32 // the logits of the frequencies of training; nil where these are not known
}

func newLabelKind(c *sft.Config) *labelKind {
	return &labelKind{config: c, tally: metrics.NewMultiLabel(c.NumLabels), simple: metrics.NewMultiLabel(c.NumLabels)}
}

func (k *labelKind) begin(c *cli.Context, _ models, _ *evalRows) error {
	k.frequent = logitsOf(frequenciesOf(c.String("data")))
	return nil
}

func (k *labelKind) measure() evaluation.Measure { return evaluation.Labels{MultiLabel: k.tally} }

func (k *labelKind) see(x *seq.Example, _ []float32, _ int64) {
	if k.frequent != nil {
		k.simple.Add(k.frequent, x.Labels)
	}
}

func (k *labelKind) report(_ context.Context, of evaluated) (evalReport, error) { return k.result(of) }

// result measures the model with its thresholds.
func (k *labelKind) result(of evaluated) (*labelsResult, error) {
	if k.tally.Rows() == 0 {
		return nil, fmt.Errorf("%s: no rows that were measured, at least 1 was expected", of.rowsIn())
	}
	thresholds := make([]float64, k.config.NumLabels)
	for i := range thresholds {
		thresholds[i] = k.config.Threshold(i)
	}
	r := &labelsResult{evaluated: of, MultiLabelReport: k.tally.Report(thresholds)}
	for i := range r.Labels {
		r.Labels[i].Name = fmt.Sprint(k.config.Label(i))
	}
	if k.frequent != nil {
		r.simple = k.simple.Report(halves(k.config.NumLabels))
		r.Frequencies = &labelsBaseline{r.simple.MicroF1, r.simple.MacroF1, r.simple.MeanAveragePrecision, r.simple.ExactMatch}
	}
	return r, nil
}

func (k *labelKind) columns() []table.OutputColumn {
	return []table.OutputColumn{{Name: partLabels, Kind: table.ListColumn}, logitColumn(k.config)}
}

func (k *labelKind) values(x *seq.Example, logits []float32, _ int64) []any {
	return []any{x.Labels, logits}
}

func (k *labelKind) add(p *partColumns, i int) error {
	labels := p.list(partLabels, i)
	if err := k.config.CheckLabels(labels); err != nil {
		return err
	}
	k.tally.Add(p.vector(partLogits, i), labels)
	return nil
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
