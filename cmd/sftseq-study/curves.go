package main

import (
	"slices"

	"github.com/sftseq/sftseq/internal/chart"
)

// curve is a metric of a run at the steps at which it was measured.
type curve struct {
	steps  []int
	values []float64
}

// add adds a value unless it is nil.
func (c *curve) add(step int, value *float64) {
	if value != nil {
		c.steps, c.values = append(c.steps, step), append(c.values, *value)
	}
}

// runningMaximum returns the curve of the maximum up to each step. The paper draws such curves.
func (c curve) runningMaximum() curve {
	out := curve{steps: c.steps, values: slices.Clone(c.values)}
	for i := range out.values {
		if i > 0 {
			out.values[i] = max(out.values[i], out.values[i-1])
		}
	}
	return out
}

// last returns the value at the last step, or 0 for an empty curve.
func (c curve) last() float64 {
	if len(c.values) == 0 {
		return 0
	}
	return c.values[len(c.values)-1]
}

// band summarises the curves of several seeds, in per cent, at the steps that all curves have.
func band(curves []curve) (steps []int, values []spread) {
	if len(curves) == 0 {
		return nil, nil
	}
	for first, step := range curves[0].steps {
		percents := []float64{100 * curves[0].values[first]}
		for _, c := range curves[1:] {
			if i := slices.Index(c.steps, step); i >= 0 {
				percents = append(percents, 100*c.values[i])
			}
		}
		if len(percents) == len(curves) {
			steps, values = append(steps, step), append(values, newSpread(percents))
		}
	}
	return steps, values
}

// curvePoint is the accuracy of a run at a step.
type curvePoint struct {
	Variant  string  `json:"variant"`
	Seed     uint64  `json:"seed"`
	Split    string  `json:"split"` // training (mean since the previous point) or validation
	Step     int     `json:"step"`
	Accuracy float64 `json:"accuracy"`
	Best     float64 `json:"best"` // best accuracy up to this step
}

// addCurves adds the points of the runs, and a row for each variant. The panels follow the paper: running
// maxima in training and in validation, and the validation curve. For each panel the row has the mean,
// the minimum and the maximum of the last values over the variant's seeds.
func (r *report) addCurves(variants []variant, runs []trainedRun) {
	step, accuracy := chart.Axis{Label: "step", Zero: true}, chart.Axis{Label: "accuracy (%)"}
	r.charts = []chart.Chart{newChart("Training, running maximum", step, accuracy),
		newChart("Validation, running maximum", step, accuracy), newChart("Validation", step, accuracy)}
	for n, v := range variants {
		var panels [3][]curve
		var finals [3][]float64
		for _, run := range runs {
			if run.variant != v.name {
				continue
			}
			r.addCurve(run, "training", run.training)
			r.addCurve(run, "validation", run.validation)
			for i, c := range []curve{run.training.runningMaximum(), run.validation.runningMaximum(), run.validation} {
				panels[i], finals[i] = append(panels[i], c), append(finals[i], 100*c.last())
			}
		}
		row := []string{v.name}
		for i := range r.charts {
			steps, values := band(panels[i])
			addBand(&r.charts[i], n, v.name, steps, values)
			row = append(row, newSpread(finals[i]).text("%.2f%%"))
		}
		r.rows = append(r.rows, row)
	}
}

func (r *report) addCurve(run trainedRun, split string, c curve) {
	best := c.runningMaximum()
	for i, step := range c.steps {
		r.add(curvePoint{run.variant, run.seed, split, step, c.values[i], best.values[i]})
	}
}
