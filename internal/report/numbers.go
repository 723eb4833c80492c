package report

import (
	"fmt"
	"html/template"

	"github.com/sftseq/sftseq/internal/chart"
)

// Numbers has the results of a run's regression model on labelled rows.
type Numbers struct {
	Data    string // file and split of the rows
	Note    string // note for the reader, or ""
	Rows    int
	Numbers []Number
}

// Number has the results for a predicted number.
type Number struct {
	Name   string
	Lines  []NumberLine // scores of the model, then of the baselines
	Points []NumberPoint
}

// NumberLine has the scores of the model or of a baseline for a number. MAE and RMSE have the unit of the
// number.
type NumberLine struct {
	Of        string // the model or the baseline
	MAE, RMSE float64
	R2        *float64 // nil if all rows have the same true number
}

// NumberPoint is the true and the predicted number of a row.
type NumberPoint struct{ Number, Predicted float32 }

// MaxPoints is the maximum number of rows in a scatter plot. More points would cover each other.
const MaxPoints = 1500

// scatter is a scatter plot of predicted over true numbers.
type scatter struct {
	chart.Chart
	Caption string
}

// SVG returns the chart without its name, which the page shows as a heading.
func (s scatter) SVG() template.HTML {
	name := s.Name
	s.Name = ""
	out := s.Scene()
	out.Name = "predictions of " + name + " over the true values"
	return out.Inline()
}

// scatters returns a scatter plot for each number that has points. run is the run's index, which
// selects its colour.
func scatters(r Run, run int) (out []scatter) {
	for _, n := range r.Numbers.Numbers {
		if len(n.Points) == 0 {
			continue
		}
		style := chart.StyleOf(run)
		style.Apart = true
		rows := chart.Series{Style: style}
		low, high := float64(n.Points[0].Number), float64(n.Points[0].Number)
		for _, p := range n.Points {
			x, y := float64(p.Number), float64(p.Predicted)
			low, high = min(low, x), max(high, x)
			rows.Points = append(rows.Points,
				chart.Datum{X: x, Y: y, Title: fmt.Sprintf("%s, predicted as %s", chart.Short(x), chart.Short(y))})
		}
		diagonal := chart.Series{Style: chart.Style{Ink: chart.FrameInk, Dash: []float64{5, 4}, Width: 1.2},
			Points: []chart.Datum{{X: low, Y: low}, {X: high, Y: high}}}
		s := scatter{Caption: "Each mark is a row; predictions on the dashed line are correct.",
			Chart: chart.Chart{Name: n.Name, X: chart.Axis{Label: n.Name}, Y: chart.Axis{Label: "predicted"},
				Series: []chart.Series{diagonal, rows}, Width: wideWidth, Height: wideHeight}}
		if len(n.Points) < r.Numbers.Rows {
			s.Caption = fmt.Sprintf("Each mark is a row (%d of %d rows shown); predictions on the dashed line are correct.",
				len(n.Points), r.Numbers.Rows)
		}
		out = append(out, s)
	}
	return out
}
