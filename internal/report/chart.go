package report

import (
	"fmt"
	"slices"
	"strings"

	"sftseq/sft"
)

// mark is how a run is told from others: a colour of Okabe and Ito's, which people
// tell apart whatever colours they see, and dashes where there are more runs.
type mark struct{ Color, Dash string }

var colors = []string{"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#6b6b6b", "#8c510a"}

func markOf(run int) mark {
	dashes := []string{"", "6 3", "2 2", "8 3 2 3"}
	return mark{colors[run%len(colors)], dashes[run/len(colors)%len(dashes)]}
}

// chart is a picture of curves over steps.
type chart struct {
	Name, Unit, Caption string
	Wide                bool
	Width, Height       float64
	Left, Right         float64 // of the field within it
	Top, Bottom         float64
	X, Y                []tick
	Lines               []chartLine
}

// chartLine is a run's curve.
type chartLine struct {
	mark
	Name       string
	Validation bool
	Path       string // of at least two points
	Dots       []dot
}

type dot struct {
	X, Y  float64
	Title string
}

type point struct {
	step  int
	value float64
}

// curve is what one chart draws of a run.
type curve struct {
	run        int
	name       string
	validation bool
	points     []point
}

// quantities are the charts, in their order.
var quantities = []struct {
	name, unit, caption string
	wide, logarithmic   bool // a logarithmic axis only where the values need one
	train               func(sft.StepReport) float64
	validation          func(sft.EvaluationReport) float64
}{
	{"Loss", "cross-entropy (nats)", "Mean over the rows of an interval in training, and over the validation split.", true, false,
		func(r sft.StepReport) float64 { return r.Loss }, func(r sft.EvaluationReport) float64 { return r.Loss }},
	{"Accuracy", "accuracy (%)", "Part of the rows whose class is answered.", true, false,
		func(r sft.StepReport) float64 { return 100 * r.Accuracy }, func(r sft.EvaluationReport) float64 { return 100 * r.Accuracy }},
	{"Learning rate", "learning rate", "At the last step of an interval.", false, false,
		func(r sft.StepReport) float64 { return r.LearningRate }, nil},
	{"Gradient norm", "norm", "Mean over an interval, before clipping.", false, true,
		func(r sft.StepReport) float64 { return r.GradNorm }, nil},
	{"Speed", "tokens/s", "Tokens trained on in a second, without evaluations.", false, false,
		func(r sft.StepReport) float64 { return r.TokensPerS }, nil},
}

// charts draws all quantities of which there is something.
func charts(runs []Run) (out []chart) {
	for _, q := range quantities {
		var curves []curve
		for i, r := range runs {
			train := curve{run: i, name: r.Name + ", training"}
			for _, l := range r.Metrics.Train {
				train.points = append(train.points, point{l.Step, q.train(l)})
			}
			curves = append(curves, train)
			if q.validation == nil {
				continue
			}
			validation := curve{run: i, name: r.Name + ", validation", validation: true}
			for _, l := range r.Metrics.Validation {
				validation.points = append(validation.points, point{l.Step, q.validation(l)})
			}
			curves = append(curves, validation)
		}
		curves = slices.DeleteFunc(curves, func(c curve) bool { return len(c.points) == 0 })
		if len(curves) == 0 {
			continue
		}
		c := chart{Name: q.name, Unit: q.unit, Caption: q.caption, Wide: q.wide, Width: 350, Height: 240}
		if q.wide {
			c.Width, c.Height = 530, 320
		}
		c.draw(curves, q.logarithmic)
		out = append(out, c)
	}
	return out
}

// wideRange is the ratio of the largest to the least value from which on a logarithmic
// axis shows more.
const wideRange = 50

// draw places axes and curves.
func (c *chart) draw(curves []curve, logarithmic bool) {
	c.Left, c.Right, c.Top, c.Bottom = 70, c.Width-12, 10, c.Height-42
	var values []float64
	last := 0
	for _, l := range curves {
		for _, p := range l.points {
			values = append(values, p.value)
			last = max(last, p.step)
		}
	}
	x := axis{low: 0, high: float64(last), from: c.Left, to: c.Right}
	y := spread(values, c.Bottom, c.Top)
	if low, high := slices.Min(values), slices.Max(values); logarithmic && low > 0 && high/low > wideRange {
		y = axis{low: low / 1.1, high: high * 1.1, from: c.Bottom, to: c.Top, logarithmic: true}
		c.Unit += ", logarithmic"
	}
	c.X, c.Y = x.ticks(int(c.Width/90)), y.ticks(int(c.Height/50))
	for _, l := range curves {
		line := chartLine{mark: markOf(l.run), Name: l.name, Validation: l.validation}
		if l.validation || len(l.points) == 1 {
			for _, p := range l.points {
				line.Dots = append(line.Dots, dot{x.at(float64(p.step)), y.at(p.value), fmt.Sprintf("%s, step %d: %s", l.name, p.step, short(p.value))})
			}
		}
		if len(l.points) > 1 {
			line.Path = path(thin(l.points), x, y)
		}
		c.Lines = append(c.Lines, line)
	}
}

// mostPoints is how many points a curve is drawn with; more cannot be told apart.
const mostPoints = 1200

// thin keeps the least and the largest value of each of equal parts of a long curve.
func thin(points []point) []point {
	if len(points) <= mostPoints {
		return points
	}
	const parts = mostPoints / 2
	var out []point
	for i := range parts {
		part := points[i*len(points)/parts : (i+1)*len(points)/parts]
		low, high := 0, 0
		for j, p := range part {
			if p.value < part[low].value {
				low = j
			}
			if p.value > part[high].value {
				high = j
			}
		}
		out = append(out, part[min(low, high)], part[max(low, high)])
	}
	return out
}

// path is a line as SVG writes it.
func path(points []point, x, y axis) string {
	var out strings.Builder
	for i, p := range points {
		command := "L"
		if i == 0 {
			command = "M"
		}
		fmt.Fprintf(&out, "%s%.1f %.1f", command, x.at(float64(p.step)), y.at(p.value))
	}
	return out.String()
}
