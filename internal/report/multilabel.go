package report

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/sftseq/sftseq/internal/metrics"
)

// Labels has the results of a run's multi-label model on labelled rows.
type Labels struct {
	Data   string // file and split of the rows
	Note   string // note for the reader, or ""
	Report *metrics.MultiLabelReport
	Curves []metrics.Curve // curves of the labels for which they are defined
	// Frequencies has the scores of a baseline that predicts the label frequencies of the training
	// split for every row; nil if unknown.
	Frequencies *metrics.MultiLabelReport
}

// labelsView is the multi-label part of a page.
type labelsView struct {
	*Labels
	Numbers []labelNumbers // all labels, or the labels with the most rows
	Hidden  int            // number of labels that are not shown
	Curves  *curvesView
}

type labelNumbers struct {
	Name                                    string
	Rows, Predicted                         int64
	Threshold                               string
	Precision, Recall, F1, AveragePrecision string
}

// manyClasses is passed to newCurvesView as the number of classes. A model with two labels then has the
// curves of both: unlike the curves of two classes, they are not mirror images of each other.
const manyClasses = 3

func newLabelsView(r Run) *labelsView {
	report, name := r.Labels.Report, func(label int) string { return fmt.Sprint(r.Config.Label(label)) }
	v := &labelsView{Labels: r.Labels}
	order := make([]int, len(report.Labels))
	for i := range order {
		order[i] = i
	}
	if v.Hidden = max(0, len(order)-maxClasses); v.Hidden > 0 {
		slices.SortStableFunc(order,
			func(a, b int) int { return cmp.Compare(report.Labels[b].Rows, report.Labels[a].Rows) })
		order = order[:maxClasses]
	}
	for _, i := range order {
		k := &report.Labels[i]
		n := numbersOf(name(i), &metrics.Class{Rows: k.Rows, Precision: k.Precision, Recall: k.Recall, F1: k.F1,
			AveragePrecision: k.AveragePrecision})
		v.Numbers = append(v.Numbers, labelNumbers{Name: n.Name, Rows: k.Rows, Predicted: k.Predicted,
			Threshold: fmt.Sprintf("%.4f", k.Threshold),
			Precision: n.Precision, Recall: n.Recall, F1: n.F1, AveragePrecision: n.AveragePrecision})
	}
	if len(r.Labels.Curves) > 0 {
		v.Curves = newCurvesView(r.Labels.Curves, manyClasses, name)
	}
	return v
}
