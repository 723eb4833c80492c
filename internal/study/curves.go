package study

import "slices"

// Curve is what a run has reached after numbers of steps.
type Curve struct {
	Steps  []int
	Values []float64
}

// RunningMaximum is the most that was reached up to each step, as the paper draws curves.
func (c Curve) RunningMaximum() Curve {
	out := Curve{Steps: c.Steps, Values: slices.Clone(c.Values)}
	for i := range out.Values {
		if i > 0 {
			out.Values[i] = max(out.Values[i], out.Values[i-1])
		}
	}
	return out
}

// Last is the value at the last step, 0 where there is none.
func (c Curve) Last() float64 {
	if len(c.Values) == 0 {
		return 0
	}
	return c.Values[len(c.Values)-1]
}

// Band is what runs of several seeds have reached, at the steps that all have.
func Band(curves []Curve) (steps []int, values []Spread) {
	if len(curves) == 0 {
		return nil, nil
	}
	for at, step := range curves[0].Steps {
		found := []float64{curves[0].Values[at]}
		for _, c := range curves[1:] {
			if i := slices.Index(c.Steps, step); i >= 0 {
				found = append(found, c.Values[i])
			}
		}
		if len(found) == len(curves) {
			steps, values = append(steps, step), append(values, SpreadOf(found))
		}
	}
	return steps, values
}
