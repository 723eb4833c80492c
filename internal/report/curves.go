package report

import (
	"fmt"
	"html/template"
	"math"
	"slices"

	"github.com/sftseq/sftseq/internal/chart"
	"github.com/sftseq/sftseq/sft/train"
)

// Curve is a chart of a quantity over the steps of runs.
type Curve struct {
	chart.Chart
	Caption string
	Wide    bool
}

// SVG returns the chart without its name, which the page shows as a heading.
func (c Curve) SVG() template.HTML {
	name := c.Name
	c.Name = ""
	s := c.Scene()
	s.Name = name + " over steps"
	return s.Inline()
}

// quantities are the quantities with a chart, in page order.
var quantities = []struct {
	name, unit, caption string
	wide, logarithmic   bool                                 // wide chart; log axis if values span orders of magnitude
	train               func(train.StepReport) float64       // NaN if missing
	validation          func(train.EvaluationReport) float64 // nil if only training measures the quantity
	baseline            func(Run) float64                    // best baseline's score, or NaN; nil if not shown
}{
	{"Loss", "loss", "Mean over the rows of an interval in training, and over the validation split.", true, false,
		func(r train.StepReport) float64 { return r.Loss },
		func(r train.EvaluationReport) float64 { return r.Loss }, nil},
	{"Accuracy", "accuracy (%)", "Fraction of the rows or tokens whose class is predicted correctly.", true, false,
		func(r train.StepReport) float64 { return percent(r.Accuracy) },
		func(r train.EvaluationReport) float64 { return percent(r.Accuracy) }, baselineAccuracy},
	{"Macro F1", "macro F1 (%)",
		"Mean over the labels, with the best thresholds on the validation split at each step.", true, false,
		notInTraining, func(r train.EvaluationReport) float64 {
			if r.Thresholds == nil { // classes show accuracy instead
				return math.NaN()
			}
			return percent(r.MacroF1)
		}, nil},
	{"Mean average precision", "average precision (%)", "Mean over the labels.", true, false,
		notInTraining, func(r train.EvaluationReport) float64 { return percent(r.MAP) }, nil},
	{"Span F1", "F1 (%)", "Spans of the validation split; start, end and type must match.", true, false,
		notInTraining, func(r train.EvaluationReport) float64 { return percent(r.SpanF1) }, nil},
	{"Part IoU", "IoU (%)",
		"Mean over the validation shapes. The IoU of a shape is the mean over the parts of its category.", true, false,
		notInTraining, func(r train.EvaluationReport) float64 { return percent(r.InstanceIoU) }, nil},
	{"Learning rate", "learning rate", "At the last step of an interval.", false, false,
		func(r train.StepReport) float64 { return r.LearningRate }, nil, nil},
	{"Gradient norm", "norm", "Mean over an interval, before clipping.", false, true,
		func(r train.StepReport) float64 { return r.GradNorm }, nil, nil},
	{"Speed", "tokens/s", "Training tokens per second, without evaluations.", false, false,
		func(r train.StepReport) float64 { return r.TokensPerS }, nil, nil},
}

// notInTraining is the train function of quantities that only validation measures.
func notInTraining(train.StepReport) float64 { return math.NaN() }

// percent returns 100·v, or NaN if v is nil.
func percent(v *float64) float64 {
	if v == nil {
		return math.NaN()
	}
	return 100 * *v
}

// Chart sizes in pixels. A page scales charts to the width of its columns.
const (
	wideWidth, wideHeight     = 460, 300
	narrowWidth, narrowHeight = 340, 240
)

// Curves returns a chart for each quantity that the runs recorded in training or validation.
func Curves(runs []Run) (out []Curve) {
	for _, q := range quantities {
		c := Curve{Caption: q.caption, Wide: q.wide,
			Chart: chart.Chart{Name: q.name, X: chart.Axis{Label: "step", Zero: true}, Y: chart.Axis{Label: q.unit},
				Width: narrowWidth, Height: narrowHeight}}
		if q.wide {
			c.Width, c.Height = wideWidth, wideHeight
		}
		for i, r := range runs {
			train := chart.Series{Name: r.Name + ", training", Style: trainingStyle(i)}
			for _, l := range wholeIntervals(r.Metrics.Train) {
				if v := q.train(l); !math.IsNaN(v) {
					train.Points = append(train.Points, chart.Datum{X: float64(l.Step), Y: v})
				}
			}
			c.Series = append(c.Series, train)
			if q.validation == nil {
				continue
			}
			validation := chart.Series{Name: r.Name + ", validation", Style: chart.StyleOf(i)}
			for _, l := range r.Metrics.Validation {
				v := q.validation(l)
				if math.IsNaN(v) {
					continue
				}
				validation.Points = append(validation.Points, chart.Datum{X: float64(l.Step), Y: v,
					Title: fmt.Sprintf("%s, step %d: %s", validation.Name, l.Step, chart.Short(v))})
			}
			c.Series = append(c.Series, validation)
			if q.baseline != nil {
				if v := q.baseline(r); !math.IsNaN(v) && len(train.Points)+len(validation.Points) > 0 {
					c.Series = append(c.Series, baselineSeries(r, i, v))
					c.Caption = q.caption + " Dotted: the strongest baseline on the labelled rows."
				}
			}
		}
		c.Series = slices.DeleteFunc(c.Series, func(s chart.Series) bool { return len(s.Points) == 0 })
		if len(c.Series) == 0 {
			continue
		}
		if q.logarithmic && wideRange(c.Series) {
			c.Y.Logarithmic, c.Y.Label = true, q.unit+", logarithmic"
		}
		out = append(out, c)
	}
	return out
}

// wholeIntervals omits each interval with less than half the tokens of the last interval kept, as at the
// end of a run. The means of so few tokens would make each curve jump.
func wholeIntervals(reports []train.StepReport) (out []train.StepReport) {
	for _, r := range reports {
		if n := len(out); n == 0 || 2*r.Tokens >= out[n-1].Tokens {
			out = append(out, r)
		}
	}
	return out
}

// trainingStyle returns the style of training curves: paler than validation curves, and without
// marks.
func trainingStyle(run int) chart.Style {
	s := chart.StyleOf(run)
	s.Shape, s.Pale = chart.None, true
	return s
}

// baselineAccuracy returns the accuracy of the strongest baseline in percent.
func baselineAccuracy(r Run) float64 {
	if r.Results == nil {
		return math.NaN()
	}
	if b := strongestBaseline(r.Results.Baseline); b != nil {
		return 100 * b.Accuracy
	}
	return math.NaN()
}

// baselineSeries returns a horizontal line at level over the steps of a run.
func baselineSeries(r Run, run int, level float64) chart.Series {
	style := trainingStyle(run)
	style.Dash = []float64{2, 4}
	last := 0
	for _, l := range r.Metrics.Train {
		last = max(last, l.Step)
	}
	for _, l := range r.Metrics.Validation {
		last = max(last, l.Step)
	}
	return chart.Series{Name: r.Name + ", strongest baseline", Style: style,
		Points: []chart.Datum{{X: 0, Y: level}, {X: float64(last), Y: level}}}
}

// wideRange reports whether a logarithmic axis suits the values: all are positive, and the largest
// is more than 50 times the smallest.
func wideRange(series []chart.Series) bool {
	const minRatio = 50
	low, high := series[0].Points[0].Y, 0.0
	for _, s := range series {
		for _, p := range s.Points {
			low, high = min(low, p.Y), max(high, p.Y)
		}
	}
	return low > 0 && high/low > minRatio
}
