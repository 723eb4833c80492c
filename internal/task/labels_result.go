package task

import (
	"cmp"
	"fmt"
	"io"
	"slices"

	"github.com/sftseq/sftseq/internal/metrics"
)

// LabelsResult is the output of eval for a multi-label model.
type LabelsResult struct {
	Evaluated
	*metrics.MultiLabelReport
	// Frequencies has the scores of predicting each label with its frequency in the training split,
	// independent of the row. It is nil if the frequencies are unknown.
	Frequencies *LabelsBaseline `json:"baseline_frequencies,omitempty"`

	frequencies *metrics.MultiLabelReport // all metrics of the baseline
}

// LabelsBaseline has the scores of a multi-label baseline.
type LabelsBaseline struct {
	MicroF1              *float64 `json:"micro_f1"`
	MacroF1              *float64 `json:"macro_f1"`
	MeanAveragePrecision *float64 `json:"mean_average_precision"`
	ExactMatch           float64  `json:"exact_match"`
}

// maxLabels is the maximum number of printed labels.
const maxLabels = 30

func (r *LabelsResult) Write(w io.Writer) error {
	out := &text{}
	out.add("%s: %s, loss %.4f", r.Title(), countRows(r.Rows), r.Loss)
	head := fmt.Sprintf("%-24s  %10s", "", "model")
	if r.Frequencies != nil {
		head += "  frequencies of training"
	}
	out.add("%s", head)
	row := func(name string, value func(b *LabelsBaseline) string) {
		line := fmt.Sprintf("%-24s  %10s", name,
			value(&LabelsBaseline{r.MicroF1, r.MacroF1, r.MeanAveragePrecision, r.ExactMatch}))
		if r.Frequencies != nil {
			line += fmt.Sprintf("  %23s", value(r.Frequencies))
		}
		out.add("%s", line)
	}
	row("micro F1", func(b *LabelsBaseline) string { return OrNone(b.MicroF1) })
	row("macro F1", func(b *LabelsBaseline) string { return OrNone(b.MacroF1) })
	row("mean average precision", func(b *LabelsBaseline) string { return OrNone(b.MeanAveragePrecision) })
	row("all labels right", func(b *LabelsBaseline) string { return fmt.Sprintf("%.2f%%", 100*b.ExactMatch) })
	out.add("%-20s  %8s  %9s  %9s  %9s  %9s  %8s  %17s", "label", "rows", "predicted", "threshold",
		"precision", "recall", "F1", "average precision")
	shown := slices.SortedStableFunc(slices.Values(r.Labels),
		func(a, b metrics.LabelReport) int { return cmp.Compare(b.Rows, a.Rows) })
	for _, k := range shown[:min(len(shown), maxLabels)] {
		out.add("%-20s  %8d  %9d  %9.4f  %9s  %9s  %8s  %17s", k.Name, k.Rows, k.Predicted, k.Threshold,
			OrNone(k.Precision), OrNone(k.Recall), OrNone(k.F1), OrNone(k.AveragePrecision))
	}
	if more := len(shown) - maxLabels; more > 0 {
		out.add("and %d more labels (--json has all)", more)
	}
	err := out.writeTo(w)
	switch b := r.Frequencies; {
	case err != nil || b == nil:
		return err
	case r.MeanAveragePrecision != nil:
		return r.advise(w, []Score{{Name: frequenciesName, Value: OrNaN(b.MeanAveragePrecision)}},
			*r.MeanAveragePrecision, Named("mean average precision"))
	default:
		return r.advise(w, []Score{{Name: frequenciesName, Value: OrNaN(b.MacroF1)}},
			OrNaN(r.MacroF1), Named("macro F1"))
	}
}

// OrNone formats a number, or returns "none" for nil.
func OrNone(v *float64) string {
	if v == nil {
		return "none"
	}
	return fmt.Sprintf("%.4f", *v)
}
