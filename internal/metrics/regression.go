package metrics

import "math"

// Regression measures predicted numbers row by row. Each number of a row has separate scores.
type Regression struct {
	rows    int
	numbers []deviations
}

// deviations has the sums and the mean over the rows for one number.
type deviations struct {
	absolute, squared float64 // sums of the absolute and of the squared errors
	mean, total       float64 // mean of the true values, and Σ(y − mean)²
}

// NumberErrors has the scores of a predicted number. MAE and RMSE have the unit of the number.
type NumberErrors struct {
	MAE, RMSE float64
	R2        float64 // 1 − Σ(y − ŷ)² / Σ(y − mean)²; 0 unless Defined
	Defined   bool    // whether the true values differ between rows
}

// NewRegression returns an empty Regression for n numbers per row.
func NewRegression(n int) *Regression { return &Regression{numbers: make([]deviations, n)} }

// Add adds a row: its predicted and its true numbers. Means and squared deviations are updated row by row
// (Welford, Technometrics 4, 1962).
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

// Rows returns the number of added rows.
func (r *Regression) Rows() int { return r.rows }

// Numbers returns the errors of each number. At least one row must have been added.
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

// MAE returns the mean of the numbers' mean absolute errors. It is meaningful only if all numbers have
// the same unit.
func (r *Regression) MAE() (mean float64) {
	for _, e := range r.Numbers() {
		mean += e.MAE
	}
	return mean / float64(len(r.numbers))
}

// R2 returns the mean R² of the numbers whose R² is defined. ok is false if none is defined.
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
