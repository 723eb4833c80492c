package metrics

import (
	"cmp"
	"slices"
	"sort"
)

// Curve says what a threshold on a class's probability does, for every threshold, the
// class against all others:
//
//	ROC  true positive rate over false positive rate
//	PR   precision over recall
//
// Rows of equal probability are on the same side of every threshold, so a curve has a
// point for each probability that occurs.
//
// AUC, the area under ROC, is the probability that a row of the class has a larger
// probability than another row, where equal ones count half: the rank sum of Mann and
// Whitney (Hanley and McNeil, "The Meaning and Use of the Area under a Receiver
// Operating Characteristic (ROC) Curve", 1982; Fawcett, "An Introduction to ROC
// Analysis", 2006). AveragePrecision, the area under PR, is Σ (recall − the recall
// before) · precision over its points (Manning, Raghavan, Schütze, "Introduction to
// Information Retrieval", chapter 8): lines between points would promise too much
// (Davis and Goadrich, "The Relationship Between Precision-Recall and ROC Curves", 2006).
type Curve struct {
	Class                 int          // Macro where it is the mean of several
	ROC, PR               []CurvePoint // PR as steps
	AUC, AveragePrecision float64
	Part                  float64 // fraction of the rows in the class: the precision of chance
}

// CurvePoint is a false positive rate with the true positive rate, or a recall with the
// precision.
type CurvePoint struct{ X, Y float64 }

// Macro stands for the mean of classes.
const Macro = -1

// maxRanked is of how many classes there are curves: they take 8 bytes a row and class.
const maxRanked = 24

// Curves are those of each class that has rows and is not all there is: of two classes
// both, whose ROC are each other's mirror; of more than 24 none.
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

// curve is that of a class, if it has one.
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

// ranked are the rows by a class's odds, the largest first.
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
	byOdds(out)
	return out
}

// byOdds sorts rows, the largest odds first.
func byOdds(rows []rankedRow) {
	slices.SortFunc(rows, func(a, b rankedRow) int { return cmp.Compare(b.odds, a.odds) })
}

// maxPoints is of how many rows on a curve leaves out points that are nearer than a part
// of this many to the one before: they take memory, and none can see them.
const maxPoints = 4000

func newCurve(class int, rows []rankedRow, positives int) *Curve {
	return measureCurve(class, rows, positives, true)
}

// areas is newCurve without the points, which take memory that grows with the rows.
func areas(class int, rows []rankedRow, positives int) *Curve {
	return measureCurve(class, rows, positives, false)
}

func measureCurve(class int, rows []rankedRow, positives int, points bool) *Curve {
	negatives := len(rows) - positives
	c := &Curve{Class: class, Part: float64(positives) / float64(len(rows)), ROC: []CurvePoint{{0, 0}}}
	hits, others := 0, 0 // rows over the threshold
	won := 0.0           // pairs of a row of the class and another one, in which it has more
	for i := 0; i < len(rows); {
		hitsBefore, othersBefore := hits, others
		for odds := rows[i].odds; i < len(rows) && cmp.Compare(rows[i].odds, odds) == 0; i++ {
			if rows[i].positive {
				hits++
			} else {
				others++
			}
		}
		won += float64(others-othersBefore) * (float64(hitsBefore) + float64(hits-hitsBefore)/2)
		recall, before := float64(hits)/float64(positives), float64(hitsBefore)/float64(positives)
		precision := float64(hits) / float64(hits+others)
		c.AveragePrecision += (recall - before) * precision
		if !points {
			continue
		}
		rate, kept := float64(others)/float64(negatives), c.ROC[len(c.ROC)-1]
		if len(rows) > maxPoints && i < len(rows) && rate-kept.X < 1./maxPoints && recall-kept.Y < 1./maxPoints {
			continue
		}
		c.ROC = append(c.ROC, CurvePoint{rate, recall})
		c.PR = append(c.PR, CurvePoint{kept.Y, precision}, CurvePoint{recall, precision})
	}
	c.AUC = won / (float64(positives) * float64(negatives))
	return c
}

// macroPoints is at how many places the mean of curves is taken.
const macroPoints = 201

// MeanCurve is the mean of curves, each class weighing the same: of the true positive rates
// at each false positive rate, of the precisions at each recall (Fawcett's vertical
// averaging). Its areas are the means of theirs.
func MeanCurve(curves []Curve) Curve {
	m := Curve{Class: Macro, ROC: []CurvePoint{{0, 0}}}
	n := float64(len(curves))
	for _, c := range curves {
		m.AUC += c.AUC / n
		m.AveragePrecision += c.AveragePrecision / n
		m.Part += c.Part / n
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

// rate is the true positive rate at a false positive rate, on the line between points.
func (c *Curve) rate(x float64) float64 {
	after := sort.Search(len(c.ROC), func(i int) bool { return c.ROC[i].X > x })
	p := c.ROC[after-1] // the highest point at x, or the last before it
	if after == len(c.ROC) {
		return p.Y
	}
	q := c.ROC[after]
	return p.Y + (x-p.X)/(q.X-p.X)*(q.Y-p.Y)
}

// precision is that of the highest threshold with a recall: of two points each threshold
// has, the second is where its recall ends.
func (c *Curve) precision(recall float64) float64 {
	n := sort.Search(len(c.PR)/2-1, func(n int) bool { return c.PR[2*n+1].X >= recall })
	return c.PR[2*n].Y
}
