package metrics

import (
	"cmp"
	"slices"
	"sort"
)

// Curve has the one-vs-rest curves of a class over all thresholds on its probability:
//
//	ROC  true positive rate as a function of the false positive rate
//	PR   precision as a function of the recall
//
// Rows of equal probability are on the same side of every threshold, so there is one threshold
// per distinct probability.
//
// AUC is the area under the ROC curve: the probability that a row of the class has a larger probability than
// a row of another class, where ties count half. It is computed as the Mann–Whitney U statistic
// divided by the number of such pairs of rows (Hanley and McNeil, "The Meaning and Use of the Area
// under a Receiver Operating Characteristic (ROC) Curve", 1982; Fawcett, "An Introduction to ROC
// Analysis", 2006).
//
// AveragePrecision is the area under PR: Σ (recall − previous recall) · precision over the points
// of the curve (Manning, Raghavan, Schütze, "Introduction to Information Retrieval", chapter 8).
// Linear interpolation between points would overestimate the area (Davis and Goadrich, "The
// Relationship Between Precision-Recall and ROC Curves", 2006).
type Curve struct {
	Class                 int          // Macro for the mean of several classes
	ROC, PR               []CurvePoint // PR is a step function
	AUC, AveragePrecision float64
	Prevalence            float64 // fraction of rows of the class: the precision of random predictions
}

// CurvePoint is a false positive rate and a true positive rate (ROC), or a recall and a precision
// (PR).
type CurvePoint struct{ X, Y float64 }

// Macro is the value of Curve.Class for the mean of several classes.
const Macro = -1

// maxRanked is the maximum number of classes for which curves are computed. Curves take 8 bytes per
// row and class.
const maxRanked = 24

// Curves returns the curves of each class that has some rows but not all. With two classes it
// returns the curves of both, whose AUCs are equal. With more than 24 classes it returns nil.
func (t *Tally) Curves() (out []Curve) {
	if t.classes > maxRanked {
		return nil
	}
	for class := range t.classes {
		if c := t.curve(class); c != nil {
			out = append(out, *c)
		}
	}
	return out
}

// curve returns the curves of a class, or nil if they are undefined or there are too many classes.
func (t *Tally) curve(class int) *Curve {
	if t.classes > maxRanked {
		return nil
	}
	rows := t.ranked(class)
	positives := 0
	for _, r := range rows {
		if r.positive {
			positives++
		}
	}
	if positives == 0 || positives == len(rows) {
		return nil
	}
	return newCurve(class, rows, positives)
}

type rankedRow struct {
	odds     float64
	positive bool
}

// ranked returns the rows in descending order of the log odds of a class.
func (t *Tally) ranked(class int) []rankedRow {
	out := make([]rankedRow, len(t.rows))
	for i, r := range t.rows {
		out[i].positive = int(r.class) == class
		switch {
		case t.classes > 2:
			out[i].odds = t.odds[i*t.classes+class]
		case class == 1:
			out[i].odds = r.margin
		default:
			out[i].odds = -r.margin
		}
	}
	sortByOdds(out)
	return out
}

// sortByOdds sorts rows in descending order of their odds.
func sortByOdds(rows []rankedRow) {
	slices.SortFunc(rows, func(a, b rankedRow) int { return cmp.Compare(b.odds, a.odds) })
}

// maxPoints is the resolution of curves of more than maxPoints rows. Except for the last point, a point
// nearer than 1/maxPoints to the previous stored point in both axes is omitted: it would be invisible in
// a chart and take memory.
const maxPoints = 4000

func newCurve(class int, rows []rankedRow, positives int) *Curve {
	return measureCurve(class, rows, positives, true)
}

// curveAreas is like newCurve, but stores no points, to save memory.
func curveAreas(class int, rows []rankedRow, positives int) *Curve {
	return measureCurve(class, rows, positives, false)
}

func measureCurve(class int, rows []rankedRow, positives int, points bool) *Curve {
	negatives := len(rows) - positives
	c := &Curve{Class: class, Prevalence: float64(positives) / float64(len(rows)), ROC: []CurvePoint{{0, 0}}}
	truePositives, falsePositives := 0, 0
	won := 0.0 // pairs in which the row of the class has larger odds than the other row; ties count half
	for i := 0; i < len(rows); {
		trueBefore, falseBefore := truePositives, falsePositives
		for odds := rows[i].odds; i < len(rows) && cmp.Compare(rows[i].odds, odds) == 0; i++ {
			if rows[i].positive {
				truePositives++
			} else {
				falsePositives++
			}
		}
		won += float64(falsePositives-falseBefore) * (float64(trueBefore) + float64(truePositives-trueBefore)/2)
		recall, before := float64(truePositives)/float64(positives), float64(trueBefore)/float64(positives)
		precision := float64(truePositives) / float64(truePositives+falsePositives)
		c.AveragePrecision += (recall - before) * precision
		if !points {
			continue
		}
		rate, last := float64(falsePositives)/float64(negatives), c.ROC[len(c.ROC)-1]
		if len(rows) > maxPoints && i < len(rows) && rate-last.X < 1./maxPoints && recall-last.Y < 1./maxPoints {
			continue
		}
		c.ROC = append(c.ROC, CurvePoint{rate, recall})
		c.PR = append(c.PR, CurvePoint{last.Y, precision}, CurvePoint{recall, precision})
	}
	c.AUC = won / (float64(positives) * float64(negatives))
	return c
}

// macroPoints is the number of points at which MeanCurve averages curves.
const macroPoints = 201

// MeanCurve returns the unweighted mean of curves: true positive rates are averaged at each false
// positive rate, and precisions at each recall (Fawcett's vertical averaging). AUC and
// AveragePrecision are the means of the curves' values.
func MeanCurve(curves []Curve) Curve {
	m := Curve{Class: Macro, ROC: []CurvePoint{{0, 0}}}
	n := float64(len(curves))
	for _, c := range curves {
		m.AUC += c.AUC / n
		m.AveragePrecision += c.AveragePrecision / n
		m.Prevalence += c.Prevalence / n
	}
	for i := range macroPoints {
		x := float64(i) / (macroPoints - 1)
		roc, pr := CurvePoint{X: x}, CurvePoint{X: x}
		for _, c := range curves {
			roc.Y += c.rate(x) / n
			pr.Y += c.precision(x) / n
		}
		m.ROC, m.PR = append(m.ROC, roc), append(m.PR, pr)
	}
	return m
}

// rate returns the true positive rate at a false positive rate, interpolated linearly between
// points.
func (c *Curve) rate(x float64) float64 {
	after := sort.Search(len(c.ROC), func(i int) bool { return c.ROC[i].X > x })
	p := c.ROC[after-1] // the highest point at x, or the last point before x
	if after == len(c.ROC) {
		return p.Y
	}
	q := c.ROC[after]
	return p.Y + (x-p.X)/(q.X-p.X)*(q.Y-p.Y)
}

// precision returns the precision of the highest threshold whose recall is at least the given recall.
// Each threshold has two points; the recall of the second is the threshold's recall.
func (c *Curve) precision(recall float64) float64 {
	n := sort.Search(len(c.PR)/2-1, func(n int) bool { return c.PR[2*n+1].X >= recall })
	return c.PR[2*n].Y
}
