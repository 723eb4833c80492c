package metrics

import (
	"cmp"
	"slices"
)

// Class has the scores of a class:
//
//	precision  correctly predicted rows of the class / rows predicted as the class
//	recall     correctly predicted rows of the class / rows of the class
//	F1         2 · correctly predicted rows / (rows of the class + rows predicted as the class),
//	           the harmonic mean of precision and recall
//
// A score is nil if it is 0/0.
//
// Source: Manning, Raghavan, Schütze, "Introduction to Information Retrieval", chapter 8.
type Class struct {
	Class     int      `json:"class"`
	Name      string   `json:"name,omitempty"` // set by callers that know the class names
	Rows      int64    `json:"rows"`
	Predicted int64    `json:"predicted"` // rows predicted as the class
	Precision *float64 `json:"precision"`
	Recall    *float64 `json:"recall"`
	F1        *float64 `json:"f1"`
	// AUC and AveragePrecision are the areas under the one-vs-rest curves of [Curve]. They are nil with
	// more than 24 classes, and if the class has no rows or all rows.
	AUC              *float64 `json:"auc"`
	AveragePrecision *float64 `json:"average_precision"`
}

func (t *Tally) perClass() []Class {
	out := make([]Class, t.classes)
	for c, rows := range t.confusion {
		out[c.label].Rows += rows
		out[c.predicted].Predicted += rows
	}
	for c := range out {
		k := &out[c]
		k.Class = c
		hits := t.confusion[confused{c, c}]
		k.Precision, k.Recall, k.F1 = ratio(hits, k.Predicted), ratio(hits, k.Rows), ratio(2*hits, k.Rows+k.Predicted)
		if curve := t.curve(c); curve != nil {
			auc, precision := curve.AUC, curve.AveragePrecision // copies, so that the curve's points are freed
			k.AUC, k.AveragePrecision = &auc, &precision
		}
	}
	return out
}

func ratio(part, whole int64) *float64 {
	if whole == 0 {
		return nil
	}
	v := float64(part) / float64(whole)
	return &v
}

// macroAUC returns the unweighted mean of the defined AUCs of the classes.
func macroAUC(classes []Class) *float64 {
	var areas []*float64
	for _, k := range classes {
		areas = append(areas, k.AUC)
	}
	return meanDefined(areas)
}

// Mistakes returns the nonzero off-diagonal cells of the confusion matrix, sorted by label and
// prediction.
func (r *Report) Mistakes() (out []Confused) {
	for _, c := range r.Counts {
		if c.Label != c.Predicted {
			out = append(out, c)
		}
	}
	for label, counts := range r.Confusion {
		for predicted, rows := range counts {
			if rows > 0 && label != predicted {
				out = append(out, Confused{label, predicted, rows})
			}
		}
	}
	return out
}

// Chosen selects the classes to show if there are many: up to n classes with the smallest defined
// F1, and up to n classes with the most rows.
func (r *Report) Chosen(n int) (worst, frequent []int) {
	for i, k := range r.Classes {
		if k.F1 != nil {
			worst = append(worst, i)
		}
		frequent = append(frequent, i)
	}
	slices.SortStableFunc(worst, func(a, b int) int { return cmp.Compare(*r.Classes[a].F1, *r.Classes[b].F1) })
	slices.SortStableFunc(frequent, func(a, b int) int { return cmp.Compare(r.Classes[b].Rows, r.Classes[a].Rows) })
	return worst[:min(len(worst), n)], frequent[:min(len(frequent), n)]
}
