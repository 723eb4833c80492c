package metrics

import "math"

// Regression measures predictions of numbers, row by row, each number apart.
type Regression struct {
	rows    int
	numbers []deviations
}

// deviations are sums over the rows of one number.
type deviations struct {
	absolute, squared float64 // sums of the prediction's error
	mean, total       float64 // mean of the number, and Σ(y − mean)²
}

// NumberErrors says how far the predictions of a number are from it, in its own unit.
type NumberErrors struct {
	MAE, RMSE float64
	R2        float64 // 1 − Σ(y − ŷ)² / Σ(y − mean)², where Defined
	Defined   bool    // not all rows have the same number
}

// NewRegression measures n numbers a row.
func NewRegression(n int) *Regression { return &Regression{numbers: make([]deviations, n)} }

// Add counts a row. The mean of a number is updated row by row (Welford, Technometrics 4, 1962).
func (r *Regression) Add(predicted, numbers []float32) {
	r.rows++
	for i, y := range numbers {
		d, y := &r.numbers[i], float64(y)
		e := float64(predicted[i]) - y
		d.absolute += math.Abs(e)
		d.squared += float64(e * e)
		before := y - d.mean
		d.mean += before / float64(r.rows)
		d.total += float64(before * (y - d.mean))
	}
}

// Rows is how many were counted.
func (r *Regression) Rows() int { return r.rows }

// Numbers measures each number; at least one row must have been counted.
func (r *Regression) Numbers() (out []NumberErrors) {
	n := float64(r.rows)
	for _, d := range r.numbers {
		e := NumberErrors{MAE: d.absolute / n, RMSE: math.Sqrt(d.squared / n), Defined: d.total > 0}
		if e.Defined {
			e.R2 = 1 - d.squared/d.total
		}
		out = append(out, e)
	}
	return out
}

// MAE is the mean over the numbers of their mean absolute errors, for numbers of one unit.
func (r *Regression) MAE() (mean float64) {
	for _, e := range r.Numbers() {
		mean += e.MAE
	}
	return mean / float64(len(r.numbers))
}

// R2 is the mean over the numbers whose R² is defined; ok is false where none is.
func (r *Regression) R2() (mean float64, ok bool) {
	n := 0
	for _, e := range r.Numbers() {
		if e.Defined {
			mean += e.R2
			n++
		}
	}
	return mean / float64(max(1, n)), n > 0
}
