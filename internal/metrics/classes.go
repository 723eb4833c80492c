package metrics

import (
	"cmp"
	"slices"
)

// Class is what a report says of a class:
//
//	precision  rows of it that were answered so / rows that were answered so
//	recall     rows of it that were answered so / rows of it
//	F1         2 · rows of it that were answered so / (rows of it + rows that were answered so),
//	           the harmonic mean of both
//
// A number is nil where it is 0/0.
//
// Source: Manning, Raghavan, Schütze, "Introduction to Information Retrieval", chapter 8.
type Class struct {
	Class     int      `json:"class"`
	Name      string   `json:"name,omitempty"` // for whoever knows it to fill in
	Rows      int64    `json:"rows"`
	Answered  int64    `json:"answered"`
	Precision *float64 `json:"precision"`
	Recall    *float64 `json:"recall"`
	F1        *float64 `json:"f1"`
	// The areas under its curves, against the rest; nil of more than 24 classes, and where
	// there are no rows of it or no others.
	AUC              *float64 `json:"auc"`
	AveragePrecision *float64 `json:"average_precision"`
}

func (t *Tally) perClass() []Class {
	out := make([]Class, t.classes)
	for c, rows := range t.confusion {
		out[c.label].Rows += rows
		out[c.answer].Answered += rows
	}
	for c := range out {
		k := &out[c]
		k.Class = c
		hits := t.confusion[confused{c, c}]
		k.Precision, k.Recall, k.F1 = ratio(hits, k.Answered), ratio(hits, k.Rows), ratio(2*hits, k.Rows+k.Answered)
		if curve := t.curve(c); curve != nil {
			auc, precision := curve.AUC, curve.AveragePrecision // pointers into the curve would keep its points
			k.AUC, k.AveragePrecision = &auc, &precision
		}
	}
	return out
}

func ratio(part, of int64) *float64 {
	if of == 0 {
		return nil
	}
	v := float64(part) / float64(of)
	return &v
}

// macroAUC is the mean of the areas that are defined, each class weighing the same.
func macroAUC(classes []Class) *float64 {
	var areas []*float64
	for _, k := range classes {
		areas = append(areas, k.AUC)
	}
	return meanDefined(areas)
}

// Mistakes are the cells of the confusion matrix off its diagonal that have rows, by label and answer.
func (r *Report) Mistakes() (out []Confused) {
	for _, c := range r.Counts {
		if c.Label != c.Answer {
			out = append(out, c)
		}
	}
	for label, counts := range r.Confusion {
		for answer, rows := range counts {
			if rows > 0 && label != answer {
				out = append(out, Confused{label, answer, rows})
			}
		}
	}
	return out
}

// Chosen are up to n classes with the least F1, of those that occur, and up to n with the
// most rows: what is shown of many.
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
