package metrics

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
)

// show formats a score, which may be nil.
func show(format string, v *float64) string {
	if v == nil {
		return "none"
	}
	return fmt.Sprintf(format, *v)
}

// tallyOf returns a tally of rows of two classes with the given margins.
func tallyOf(t *testing.T, classes []int, margins ...float32) *Tally {
	t.Helper()
	y := NewTally(2)
	for i, m := range margins {
		must.Succeed(t, y.Add(classes[i], []float32{0, m}, 1))
	}
	return y
}

// TestCurve compares curves with values computed by hand, also for ties. The first example is from
// scikit-learn's documentation.
func TestCurve(t *testing.T) {
	for _, c := range []struct {
		name    string
		classes []int
		margins []float32
		roc, pr string
		auc, ap float64
	}{
		{"four rows", []int{0, 0, 1, 1}, []float32{.1, .4, .35, .8}, "[{0 0} {0 0.5} {0.5 0.5} {0.5 1} {1 1}]",
			"[{0 1} {0.5 1} {0.5 0.5} {0.5 0.5} {0.5 0.6666666666666666} {1 0.6666666666666666} {1 0.5} {1 0.5}]", .75,
			.5 + .5*2/3},
		{"in order", []int{0, 1, 1}, []float32{-1, 1, 2}, "[{0 0} {0 0.5} {0 1} {1 1}]",
			"[{0 1} {0.5 1} {0.5 1} {1 1} {1 0.6666666666666666} {1 0.6666666666666666}]", 1, 1},
		{"all equal", []int{1, 0, 0, 1, 0}, []float32{3, 3, 3, 3, 3}, "[{0 0} {1 1}]", "[{0 0.4} {1 0.4}]", .5, .4},
		{"a tie of both", []int{1, 1, 0, 0}, []float32{5, 2, 2, 1}, "[{0 0} {0 0.5} {0.5 1} {1 1}]",
			"[{0 1} {0.5 1} {0.5 0.6666666666666666} {1 0.6666666666666666} {1 0.5} {1 0.5}]", 3.5 / 4, .5 + .5*2/3},
	} {
		curves := tallyOf(t, c.classes, c.margins...).Curves()
		if len(curves) != 2 {
			t.Fatalf("%s: got %d curves, want 2", c.name, len(curves))
		}
		got := curves[1]
		if fmt.Sprint(got.ROC) != c.roc || fmt.Sprint(got.PR) != c.pr || !near(got.AUC, c.auc) ||
			!near(got.AveragePrecision, c.ap) {
			t.Errorf("%s: got %+v, want %+v", c.name, got, c)
		}
		if !near(curves[0].AUC, c.auc) {
			t.Errorf("%s: class 0: got AUC %v, want %v", c.name, curves[0].AUC, c.auc)
		}
	}
}

// TestCurvesByDefinition compares curves with their definitions, on rows with many ties: AUC with a
// count over all pairs of rows, and each point with a count of the rows at or above its threshold.
func TestCurvesByDefinition(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for round := range 60 {
		classes := 2 + random.IntN(4)
		y := NewTally(classes)
		var labels []int
		var p [][]float64
		for range 5 + random.IntN(60) {
			logits := make([]float32, classes)
			for c := range logits {
				logits[c] = float32(random.IntN(4))
			}
			labels, p = append(labels, random.IntN(classes)), append(p, Softmax(logits))
			must.Succeed(t, y.Add(labels[len(labels)-1], logits, 1))
		}
		curves := y.Curves()
		var areas []float64
		for _, c := range curves {
			checkCurve(t, c, labels, p)
			areas = append(areas, c.AUC)
		}
		r := y.Report()
		for c, k := range r.Classes {
			i := slices.IndexFunc(curves, func(v Curve) bool { return v.Class == c })
			if (k.AUC == nil) != (i < 0) || i >= 0 &&
				(*k.AUC != curves[i].AUC || *k.AveragePrecision != curves[i].AveragePrecision) {
				t.Errorf("round %d, class %d: AUC %s and average precision %s differ from curves %+v", round, c,
					show("%v", k.AUC), show("%v", k.AveragePrecision), curves)
			}
		}
		if classes > 2 && len(areas) > 0 {
			sum := 0.0
			for _, a := range areas {
				sum += a
			}
			if r.AUC != nil || r.MacroAUC == nil || !near(*r.MacroAUC, sum/float64(len(areas))) ||
				!near(MeanCurve(curves).AUC, *r.MacroAUC) {
				t.Errorf("round %d: got AUC %s and macro AUC %s, want none and the mean of %v", round, show("%v",
					r.AUC), show("%v", r.MacroAUC), areas)
			}
		}
	}
}

func checkCurve(t *testing.T, c Curve, labels []int, p [][]float64) {
	t.Helper()
	var won, pairs, ap float64
	equal := func(a, b float64) bool { return math.Abs(a-b) < 1e-12 } // sums of equal logits may differ by rounding
	var thresholds []float64
	for i := range labels {
		thresholds = append(thresholds, p[i][c.Class])
		for j := range labels {
			if labels[i] == c.Class && labels[j] != c.Class {
				pairs++
				if a, b := p[i][c.Class], p[j][c.Class]; equal(a, b) {
					won += .5
				} else if a > b {
					won++
				}
			}
		}
	}
	if !near(c.AUC, won/pairs) {
		t.Errorf("got AUC %v, want %v", c.AUC, won/pairs)
	}
	slices.Sort(thresholds)
	thresholds = slices.CompactFunc(thresholds, equal)
	slices.Reverse(thresholds)
	if len(c.ROC) != len(thresholds)+1 || len(c.PR) != 2*len(thresholds) {
		t.Fatalf("%d thresholds: got %d ROC points and %d PR points, want %d and %d", len(thresholds), len(c.ROC),
			len(c.PR), len(thresholds)+1, 2*len(thresholds))
	}
	before, area := 0.0, 0.0
	for n, threshold := range thresholds {
		var hits, others, all float64
		for i := range labels {
			over := p[i][c.Class] > threshold-1e-12
			switch {
			case labels[i] == c.Class && over:
				hits++
			case over:
				others++
			}
			if labels[i] == c.Class {
				all++
			}
		}
		recall, precision, rate := hits/all, hits/(hits+others), others/(float64(len(labels))-all)
		ap += (recall - before) * precision
		if q := c.ROC[n+1]; !near(q.X, rate) || !near(q.Y, recall) {
			t.Errorf("got ROC point %v, want %v, %v", q, rate, recall)
		}
		if q := c.PR[2*n+1]; !near(q.X, recall) || !near(q.Y, precision) || !near(c.PR[2*n].X, before) {
			t.Errorf("got PR point %v, want %v, %v", q, recall, precision)
		}
		area += (c.ROC[n+1].X - c.ROC[n].X) * (c.ROC[n+1].Y + c.ROC[n].Y) / 2
		before = recall
	}
	if !near(c.AveragePrecision, ap) || !near(area, c.AUC) {
		t.Errorf("got average precision %v, want %v; area under the points %v, AUC %v",
			c.AveragePrecision, ap, area, c.AUC)
	}
}

// TestLongCurve checks that a curve of many rows has a limited number of points, and that the area
// under the points is nearly exact.
func TestLongCurve(t *testing.T) {
	const n = 50_000
	random := rand.New(rand.NewPCG(5, 6))
	var classes []int
	var margins []float32
	for range n {
		class := random.IntN(2)
		classes, margins = append(classes, class), append(margins, float32(random.NormFloat64())+float32(class))
	}
	c := tallyOf(t, classes, margins...).Curves()[1]
	if len(c.ROC) > 2*maxPoints+2 || len(c.PR) != 2*(len(c.ROC)-1) || c.ROC[len(c.ROC)-1] != (CurvePoint{1, 1}) ||
		c.PR[len(c.PR)-1].X != 1 {
		t.Errorf("got %d ROC points and %d PR points, want at most 2·maxPoints + 2, 2 per ROC point except the first, "+
			"and the last at 1", len(c.ROC), len(c.PR))
	}
	area, ap := 0.0, 0.0
	for i, p := range c.ROC[1:] {
		area += (p.X - c.ROC[i].X) * (p.Y + c.ROC[i].Y) / 2
		ap += (c.PR[2*i+1].X - c.PR[2*i].X) * c.PR[2*i].Y
	}
	// The classes are normally distributed, and their means differ by one standard deviation: AUC =
	// Φ(1/√2).
	if want := 0.7602; math.Abs(c.AUC-want) > 0.01 || math.Abs(area-c.AUC) > 1e-4 ||
		math.Abs(ap-c.AveragePrecision) > 1e-3 {
		t.Errorf("got AUC %v, want %v ± 0.01; area under the ROC points %v, want the AUC ± 1e-4; "+
			"area under the PR points %v, want the average precision %v ± 1e-3", c.AUC, want, area, ap,
			c.AveragePrecision)
	}
}

// TestMeanCurve checks that the mean of a single curve is that curve, and that the mean of two
// curves is halfway between them.
func TestMeanCurve(t *testing.T) {
	a := Curve{ROC: []CurvePoint{{0, 0}, {0, .5}, {1, 1}}, PR: []CurvePoint{{0, 1}, {.5, 1}, {.5, .5}, {1, .5}},
		AUC: .75, AveragePrecision: .75}
	b := Curve{ROC: []CurvePoint{{0, 0}, {1, 1}}, PR: []CurvePoint{{0, .25}, {1, .25}}, AUC: .5, AveragePrecision: .25}
	one, both := MeanCurve([]Curve{a}), MeanCurve([]Curve{a, b})
	for _, c := range []struct {
		got  CurvePoint
		want CurvePoint
	}{
		{one.ROC[1], CurvePoint{0, .5}}, {one.ROC[1+100], CurvePoint{.5, .75}}, {one.ROC[1+200], CurvePoint{1, 1}},
		{one.PR[0], CurvePoint{0, 1}}, {one.PR[100], CurvePoint{.5, 1}}, {one.PR[101], CurvePoint{.505, .5}},
		{one.PR[200], CurvePoint{1, .5}},
		{both.ROC[1], CurvePoint{0, .25}}, {both.ROC[1+100], CurvePoint{.5, .625}}, {both.PR[0], CurvePoint{0, .625}},
		{both.PR[200], CurvePoint{1, .375}},
	} {
		if !near(c.got.X, c.want.X) || !near(c.got.Y, c.want.Y) {
			t.Errorf("got %v, want %v", c.got, c.want)
		}
	}
	if both.Class != Macro || !near(both.AUC, .625) || !near(both.AveragePrecision, .5) {
		t.Errorf("got %+v, want AUC 0.625 and average precision 0.5", both)
	}
}

// TestLogOdds checks that logOdds returns the difference of the logits for two classes, and that it
// distinguishes logits whose probabilities are equal in float64.
func TestLogOdds(t *testing.T) {
	if got := logOdds([]float32{1.25, 4})[1]; got != 2.75 {
		t.Errorf("got log odds %v, want 2.75", got)
	}
	for class, p := range Softmax([]float32{1, 2, -3}) {
		if got := logOdds([]float32{1, 2, -3})[class]; !near(got, math.Log(p/(1-p))) {
			t.Errorf("class %d: got log odds %v for the probability %v, want %v", class, got, p, math.Log(p/(1-p)))
		}
	}
	y := NewTally(3)
	for i, top := range []float32{400, 300} { // both probabilities are 1
		must.Succeed(t, y.Add(i, []float32{top, 0, 0}, 1))
	}
	if c := y.Curves()[0]; c.AUC != 1 {
		t.Errorf("got AUC %v, want 1", c.AUC)
	}
}

// TestManyClasses checks that curves are not computed for many classes, because they need memory
// for each row and class.
func TestManyClasses(t *testing.T) {
	y := NewTally(maxRanked + 1)
	for i := range 60 {
		logits := make([]float32, maxRanked+1)
		logits[i%7] = 1
		must.Succeed(t, y.Add(i%5, logits, 1))
	}
	if r := y.Report(); y.odds != nil || y.Curves() != nil || r.MacroAUC != nil ||
		r.Classes[0].AUC != nil || r.Classes[0].F1 == nil {
		t.Errorf("got %d odds, macro AUC %s, AUC %s and F1 %s, want F1 but no curves", len(y.odds),
			show("%v", r.MacroAUC), show("%v", r.Classes[0].AUC), show("%v", r.Classes[0].F1))
	}
}

// TestClasses compares precision, recall and F1 with values computed by hand, and checks the only
// calibration bin.
func TestClasses(t *testing.T) {
	y := NewTally(4)
	for _, r := range [][2]int{{0, 0}, {0, 0}, {0, 1}, {1, 1}, {2, 0}} { // class, prediction
		logits := make([]float32, 4)
		logits[r[1]] = 9
		must.Succeed(t, y.Add(r[0], logits, 1))
	}
	text := ""
	r := y.Report()
	for _, k := range r.Classes {
		text += fmt.Sprintln(k.Class, k.Rows, k.Predicted, show("%.3f", k.Precision), show("%.3f", k.Recall),
			show("%.3f", k.F1))
	}
	if want := "0 3 3 0.667 0.667 0.667\n1 1 2 0.500 1.000 0.667\n2 1 0 none 0.000 0.000\n3 0 0 none none none\n"; text != want {
		t.Errorf("\n%swant\n%s", text, want)
	}
	// All predictions have the same confidence, so they are in one calibration bin.
	if len(r.Calibration) != 1 || r.Calibration[0].Rows != 5 || !near(r.Calibration[0].Accuracy, .6) ||
		!near(r.CalibrationError, r.Calibration[0].Confidence-.6) ||
		!(r.Calibration[0].From <= r.Calibration[0].Confidence && r.Calibration[0].Confidence <= r.Calibration[0].To) {
		t.Errorf("got calibration %+v, want a single bin of 5 rows", r.Calibration)
	}
}

// TestInfiniteLogits checks that Add rejects infinite logits, because the log odds between two
// infinite logits are NaN, and that rejected rows do not change the report.
func TestInfiniteLogits(t *testing.T) {
	inf := float32(math.Inf(-1))
	for _, logits := range [][]float32{{inf, inf, 1}, {inf, 1, 2}, {1, -inf, 2}} {
		y := NewTally(3)
		for class := range 3 {
			must.Succeed(t, y.Add(class, []float32{1, 2, float32(class)}, 1))
		}
		before := y.Report()
		for class := range 3 {
			must.Fail(t, "expected finite logits", logits)(y.Add(class, logits, 1))
		}
		if after := y.Report(); !reflect.DeepEqual(after, before) {
			t.Errorf("%v: got %d rows and loss %v, want the report without the rejected rows: %d rows and loss %v",
				logits, after.Rows, after.Loss, before.Rows, before.Loss)
		}
	}
}

// TestCurveOfNaN checks that newCurve returns even if some odds are NaN.
func TestCurveOfNaN(t *testing.T) {
	rows := []rankedRow{{math.NaN(), true}, {1, false}, {math.NaN(), false}, {0, true}}
	sortByOdds(rows)
	if c := newCurve(1, rows, 2); len(c.ROC) != 4 {
		t.Errorf("got %d points, want 4: the origin, 1, 0 and NaN", len(c.ROC))
	}
}
