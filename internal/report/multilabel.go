package report

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/sftseq/sftseq/internal/metrics"
)

// Labels are what a run's model of several labels makes of labelled rows.
type Labels struct {
	Data   string // the rows: a file, and which split it is
	Note   string // note for the reader, or ""
	Report *metrics.MultiLabelReport
	Curves []metrics.Curve // over all thresholds, of the labels that have some
	// Frequencies are what the mean of the training split reaches, which answers every row the
	// same; nil where that is not known.
	Frequencies *metrics.MultiLabelReport
}

// labelsView is what a page says of them.
type labelsView struct {
	*Labels
	Numbers []labelNumbers // one for each label, or for those with the most rows
	Hidden  int            // how many labels are not shown
	Curves  *curvesView
}

type labelNumbers struct {
	Name                                    string
	Rows, Answered                          int64
	Threshold                               string
	Precision, Recall, F1, AveragePrecision string
}

// labelsAsClasses stands for more than two classes, each against the rest: two labels are no
// mirror of each other.
const labelsAsClasses = 3

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
		v.Numbers = append(v.Numbers, labelNumbers{Name: n.Name, Rows: k.Rows, Answered: k.Answered,
			Threshold: fmt.Sprintf("%.4f", k.Threshold),
			Precision: n.Precision, Recall: n.Recall, F1: n.F1, AveragePrecision: n.AveragePrecision})
	}
	if len(r.Labels.Curves) > 0 {
		v.Curves = newCurvesView(r.Labels.Curves, labelsAsClasses, name)
	}
	return v
}
