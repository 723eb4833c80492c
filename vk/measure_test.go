//go:build cgo

package vk

import (
	"testing"

	"github.com/sftseq/sftseq/internal/must"
)

// TestMeasure checks that the measured rates are plausible for a real machine.
func TestMeasure(t *testing.T) {
	d := open(t, Options{})
	for name, measure := range map[string]func() (float64, error){"copy": d.MeasureCopy,
		"products": d.MeasureProducts} {
		rate := must.Get(measure())(t)
		t.Logf("%s: %.2f G/s", name, rate/1e9)
		if !(rate > 1e7 && rate < 1e16) {
			t.Errorf("%s: rate %v, want one between 1e7 and 1e16", name, rate)
		}
	}
}

// TestCalibrateIterations checks, on simulated devices from fast to slow, that no dispatch takes too
// long, and that the last dispatch takes long enough or has the maximum number of iterations.
func TestCalibrateIterations(t *testing.T) {
	for _, perIteration := range []float64{0, 1e-7, 1e-5, 1e-3, 2e-2} {
		longest := 0.0
		iterations, seconds, err := calibrateIterations(func(iterations int) (float64, error) {
			longest = max(longest, perIteration*float64(iterations))
			return perIteration * float64(iterations), nil
		})
		if err != nil || seconds != longest || longest > max(0.06, 16*perIteration) || seconds < 0.025 &&
			iterations < 1<<17 {
			t.Errorf("%v s per iteration: got %d iterations in %v s, the longest dispatch took %v s, error %v; "+
				"want the last dispatch to be the longest, at most 0.06 s unless it has 16 iterations, and at least "+
				"0.025 s unless it has 131072 iterations",
				perIteration, iterations, seconds, longest, err)
		}
	}
}
