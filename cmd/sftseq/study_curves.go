package main

import (
	"github.com/sftseq/sftseq/internal/chart"
	"github.com/sftseq/sftseq/internal/study"
)

// curvePoint is what a run has reached at a step.
type curvePoint struct {
	Variant  string  `json:"variant"`
	Seed     uint64  `json:"seed"`
	Split    string  `json:"split"` // training, of the steps since the last point, or validation
	Step     int     `json:"step"`
	Accuracy float64 `json:"accuracy"`
	Best     float64 `json:"best"` // so far
}

// curveColumns are those of the table of [studyTraining.curves].
var curveColumns = []string{"model", "best in training", "best in validation", "at the end"}

// curves adds the points of runs, and a row for each variant, with the mean of its seeds and
// their ends. The panels are those of the paper: running maxima in training and in validation, and
// the curve of validation.
func (s *studyTraining) curves(report *studyReport, variants []variant, runs []trainedRun) (panels []chart.Chart, err error) {
	step := chart.Axis{Label: "step", Zero: true}
	percent := chart.Axis{Label: "accuracy (%)"}
	panels = []chart.Chart{studyChart("Training, the most so far", step, percent), studyChart("Validation, the most so far", step, percent), studyChart("Validation", step, percent)}
	for n, v := range variants {
		var drawn [3][]study.Curve
		var ends [3][]float64
		for _, r := range runs {
			if r.variant != v.name {
				continue
			}
			training, validation := r.accuracies()
			if err := addCurve(report, r, "training", training); err != nil {
				return nil, err
			}
			if err := addCurve(report, r, "validation", validation); err != nil {
				return nil, err
			}
			for i, c := range []study.Curve{training.RunningMaximum(), validation.RunningMaximum(), validation} {
				drawn[i] = append(drawn[i], c)
				ends[i] = append(ends[i], 100*c.Last())
			}
		}
		row := []string{v.name}
		for i := range panels {
			addBand(&panels[i], n, v.name, drawn[i])
			row = append(row, spreadText(study.SpreadOf(ends[i]), "%.2f%%"))
		}
		report.rows = append(report.rows, row)
	}
	return panels, nil
}

// addCurve adds the points of a curve.
func addCurve(report *studyReport, r trainedRun, split string, c study.Curve) error {
	best := c.RunningMaximum()
	for i, at := range c.Steps {
		if err := report.add(curvePoint{r.variant, r.seed, split, at, c.Values[i], best.Values[i]}); err != nil {
			return err
		}
	}
	return nil
}

// addBand draws the mean of curves in per cent, and their ends paler where there are several.
func addBand(c *chart.Chart, n int, name string, curves []study.Curve) {
	steps, values := study.Band(curves)
	var mean, least, most []chart.Datum
	for i, step := range steps {
		x, v := float64(step), values[i]
		mean = append(mean, chart.Datum{X: x, Y: 100 * v.Mean})
		least, most = append(least, chart.Datum{X: x, Y: 100 * v.Min}), append(most, chart.Datum{X: x, Y: 100 * v.Max})
	}
	if len(curves) > 1 {
		pale := chart.StyleOf(n)
		pale.Pale, pale.Shape = true, chart.None
		c.Series = append(c.Series, chart.Series{Style: pale, Points: least}, chart.Series{Style: pale, Points: most})
	}
	addLine(c, n, name, mean)
}
