package report

import (
	"cmp"
	"fmt"
	"html/template"
	"slices"

	"github.com/sftseq/sftseq/internal/chart"
	"github.com/sftseq/sftseq/internal/metrics"
)

// classification has the reliability diagram, the scores of the classes and the curves of a run's classifier.
type classification struct {
	Reliability, Confidence template.HTML
	CalibrationError        float64
	Tables                  []classTable
	Hidden, Classes         int // number of classes in no table; number of all classes
	Curves                  *curvesView
}

// classTable lists the scores of all classes, or of a selection.
type classTable struct {
	Title string // "" for a single table
	Areas bool   // whether to show AUC and average precision
	Rows  []classNumbers
}

type classNumbers struct {
	Name                  string
	Precision, Recall, F1 string
	AUC, AveragePrecision string
	Rows                  int64
}

// curvesView has the ROC and precision-recall curves.
type curvesView struct {
	ROC, PR template.HTML
	Legend  []curveEntry
	Note    string
}

type curveEntry struct {
	Swatch template.HTML
	Name   string
}

// maxCurves is the maximum number of classes with a curve. The classes with the lowest AUC are
// shown.
const maxCurves = 5

// shownClasses is the maximum number of classes in each of the two tables that are shown if there are too
// many classes for a table of all classes.
const shownClasses = 12

// newClassification evaluates a run's classifier. run is the index of the run, which selects the colour.
func newClassification(r Run, run int) *classification {
	report := r.Results.Report
	a := &classification{CalibrationError: report.CalibrationError, Classes: len(report.Classes)}
	a.Reliability, a.Confidence = reliability(report.Calibration, report.Rows, chart.StyleOf(run))
	name := func(class int) string { return fmt.Sprint(r.Config.Label(class)) }
	table := func(title string, classes []int) {
		t := classTable{Title: title, Areas: len(r.Results.Curves) > 0}
		for _, i := range classes {
			t.Rows = append(t.Rows, numbersOf(name(i), &report.Classes[i]))
		}
		a.Tables = append(a.Tables, t)
	}
	if len(report.Classes) <= maxClasses {
		all := make([]int, len(report.Classes))
		for i := range all {
			all[i] = i
		}
		table("", all)
	} else {
		worst, frequent := report.Chosen(shownClasses)
		table("Classes with the lowest F1", worst)
		table("Classes with the most rows", frequent)
		shown := map[int]bool{}
		for _, i := range append(worst, frequent...) {
			shown[i] = true
		}
		a.Hidden = len(report.Classes) - len(shown)
	}
	if len(r.Results.Curves) > 0 {
		a.Curves = newCurvesView(r.Results.Curves, len(report.Classes), name)
	}
	return a
}

func numbersOf(name string, k *metrics.Class) classNumbers {
	show := func(format string, factor float64, v *float64) string {
		if v == nil {
			return none
		}
		return fmt.Sprintf(format, factor**v)
	}
	return classNumbers{Name: name, Precision: show("%.1f%%", 100, k.Precision), Recall: show("%.1f%%", 100, k.Recall),
		F1:  show("%.4f", 1, k.F1),
		AUC: show("%.4f", 1, k.AUC), AveragePrecision: show("%.4f", 1, k.AveragePrecision), Rows: k.Rows}
}

// reference is the style of reference lines, such as chance.
var reference = chart.Style{Ink: chart.NoteInk, Dash: []float64{4, 4}, Width: 1.2}

// reliability draws accuracy against confidence, and a histogram of the confidence.
func reliability(bins []metrics.CalibrationBin, rows int, style chart.Style) (diagram, counts template.HTML) {
	confidence := chart.Axis{Label: "confidence (%): probability of the prediction", Low: 0, High: 100}
	c := chart.Chart{X: confidence, Y: chart.Axis{Label: "accuracy (%)", Low: 0, High: 100}, Width: 360, Height: 290}
	n := chart.Chart{X: confidence, Y: chart.Axis{Label: "rows (%)", Zero: true}, Width: 360, Height: 150}
	line := chart.Series{Style: chart.Style{Ink: style.Ink, Shape: chart.Circle}}
	for _, b := range bins {
		part := 100 * float64(b.Rows) / float64(rows)
		title := fmt.Sprintf("confidence %.1f%%: accuracy %.1f%% of %d rows", 100*b.Confidence, 100*b.Accuracy, b.Rows)
		c.Boxes = append(c.Boxes, chart.Box{From: 100*b.From + .3, To: 100*b.To - .3, Value: 100 * b.Accuracy,
			Ink: style.Ink, Pale: true, Title: title})
		n.Boxes = append(n.Boxes, chart.Box{From: 100*b.From + .3, To: 100*b.To - .3, Value: part, Ink: style.Ink,
			Title: fmt.Sprintf("%d rows (%.1f%%)", b.Rows, part)})
		line.Points = append(line.Points, chart.Datum{X: 100 * b.Confidence, Y: 100 * b.Accuracy, Title: title})
	}
	c.Series = []chart.Series{{Style: reference, Points: []chart.Datum{{X: 0, Y: 0}, {X: 100, Y: 100}}}, line}
	d, h := c.Scene(), n.Scene()
	d.Name, h.Name = "reliability diagram: accuracy over confidence", "rows by confidence"
	return d.Inline(), h.Inline()
}

// newCurvesView draws ROC and precision-recall curves. With two classes it draws only the curves of the
// second class, otherwise the curves of the macro mean and of the classes with the lowest AUC.
func newCurvesView(curves []metrics.Curve, classes int, name func(int) string) *curvesView {
	v := &curvesView{}
	var shown []metrics.Curve
	styles := []chart.Style{}
	if classes == 2 {
		shown = curves[len(curves)-1:]
		v.Note = fmt.Sprintf("The curves vary the threshold on the probability of %s.", name(shown[0].Class))
	} else {
		worst := slices.Clone(curves)
		slices.SortStableFunc(worst, func(a, b metrics.Curve) int { return cmp.Compare(a.AUC, b.AUC) })
		shown = append(worst[:min(len(worst), maxCurves)], metrics.MeanCurve(curves))
		v.Note = "The curves vary the threshold on a class's probability (one-vs-rest); " +
			"the macro mean weights all classes equally."
		if omitted := len(curves) - maxCurves; omitted > 0 {
			v.Note += fmt.Sprintf(" The %d classes with the lowest AUC are shown; %d are not.",
				maxCurves, omitted)
		}
	}
	for i := range shown {
		s := chart.StyleOf(i)
		if shown[i].Class == metrics.Macro {
			s = chart.Style{Ink: chart.TextInk, Width: 3}
		}
		s.Shape = chart.None
		styles = append(styles, s)
	}
	percent := func(label string) chart.Axis { return chart.Axis{Label: label + " (%)", Low: 0, High: 100} }
	roc := chart.Chart{X: percent("false positive rate"), Y: percent("true positive rate"), Width: 420, Height: 340,
		Series: []chart.Series{{Style: reference, Points: []chart.Datum{{X: 0, Y: 0}, {X: 100, Y: 100}}}}}
	pr := chart.Chart{X: percent("recall"), Y: percent("precision"), Width: 420, Height: 340}
	if part := 100 * shown[0].Prevalence; classes == 2 { // with more classes, each has its own chance line
		pr.Series = append(pr.Series,
			chart.Series{Style: reference, Points: []chart.Datum{{X: 0, Y: part}, {X: 100, Y: part}}})
	}
	for i, c := range shown {
		title := "macro mean"
		if c.Class != metrics.Macro {
			title = name(c.Class)
		}
		title += fmt.Sprintf(": AUC %.4f, average precision %.4f", c.AUC, c.AveragePrecision)
		roc.Series = append(roc.Series, chart.Series{Name: title, Style: styles[i], Points: percentPoints(c.ROC)})
		pr.Series = append(pr.Series, chart.Series{Name: title, Style: styles[i], Points: percentPoints(c.PR)})
		v.Legend = append(v.Legend, curveEntry{chart.Swatch(styles[i], title).Inline(), title})
	}
	v.Legend = append(v.Legend, curveEntry{chart.Swatch(reference, "chance").Inline(), "chance"})
	v.ROC, v.PR = roc.Scene().Inline(), pr.Scene().Inline()
	return v
}

func percentPoints(points []metrics.CurvePoint) (out []chart.Datum) {
	for _, p := range points {
		out = append(out, chart.Datum{X: 100 * p.X, Y: 100 * p.Y})
	}
	return out
}
