package conformance

import (
	"fmt"
	"math"

	"github.com/sftseq/sftseq/internal/tensor"
)

// want sets the expected values of an output. The error of an element may be at most
// tolerance·(magnitude of the expected value + root mean square of all expected values). o.scale, if
// set, replaces the root mean square.
func (r *fixture) want(o *operand, want []float64, tolerance float64) *operand {
	o.want, o.tolerance = want, tolerance
	return o
}

// check adds a custom check of the results to the case.
func (r *fixture) check(f func() error) { r.checks = append(r.checks, f) }

// derivative declares that the gradients in pairs are gradients of loss.
func (r *fixture) derivative(loss func() float64, pairs ...pair) {
	r.derivatives = append(r.derivatives, derivative{loss, pairs})
}

// errors returns the first error in each compared output, and the errors of the custom checks.
func (r *fixture) errors() []error {
	var errs []error
	for i, o := range r.operands {
		if !o.written || o.unchecked {
			continue
		}
		if err := r.compare(o); err != nil {
			errs = append(errs, fmt.Errorf("operand %d, %v: %w", i, o.Tensor, err))
		}
	}
	for _, f := range r.checks {
		if err := f(); err != nil {
			errs = append(errs, err)
		}
	}
	return errs
}

func (r *fixture) compare(o *operand) error {
	if len(o.want) != len(o.got) {
		return fmt.Errorf("%d results, %d expected", len(o.got), len(o.want))
	}
	var squares float64
	for _, v := range o.want {
		squares += v * v
	}
	rms := math.Sqrt(squares / float64(len(o.want)))
	if o.scale > 0 {
		rms = o.scale
	}
	for i, want := range o.want {
		diff, bound := math.Abs(o.got[i]-want), o.tolerance*(math.Abs(want)+rms)
		if !(diff <= bound) {
			return fmt.Errorf("row %d, column %d: %v, expected %v ± %.1e", i/o.columns,
				i%o.columns, o.got[i], want, bound)
		}
		if bound > 0 {
			r.worst = max(r.worst, diff/bound)
		}
	}
	return nil
}

// product returns Σ a·b. It omits the terms with NaN in a, which marks unused rows.
func product(a, b []float64) float64 {
	var s float64
	for i, v := range a {
		if !math.IsNaN(v) {
			s += v * b[i]
		}
	}
	return s
}

// sum returns x + y, element by element.
func sum(x, y []float64) []float64 {
	z := make([]float64, len(x))
	for i := range x {
		z[i] = x[i] + y[i]
	}
	return z
}

// zeros returns a vector of n zeros.
func zeros(n int) []float64 { return make([]float64, n) }

// target declares an output that a kernel assigns or, with accumulate, adds to.
func (r *fixture) target(accumulate bool, axis tensor.Axis, width int, gradient []float64, tolerance float64) *operand {
	if !accumulate {
		return r.want(r.out(axis, width), gradient, tolerance)
	}
	o := r.inOut(axis, width)
	return r.want(o, sum(o.x, gradient), tolerance)
}
