package sft

import (
	"math"
	"testing"
)

// TestEnsembleExtremes checks that means of probabilities near 0 and 1 neither underflow nor
// overflow.
func TestEnsembleExtremes(t *testing.T) {
	for _, f := range []func() []float32{
		func() []float32 { return meanOfClasses(2, [][]float32{{3000, -3000}, {-3000, 3000}}) },
		func() []float32 { return meanOfLabels([][]float32{{3000}, {-3000}}) },
	} {
		for _, l := range f() {
			if want := []float64{0, math.Log(0.5)}; math.Abs(float64(l)-want[0]) > 1e-6 &&
				math.Abs(float64(l)-want[1]) > 1e-6 {
				t.Errorf("logit %v, expected one of %v", l, want)
			}
		}
	}
	if got := meanOfClasses(2, [][]float32{{3000, -3000}, {3000, -3000}}); got[0] != 0 || got[1] != -6000 {
		t.Errorf("logits %v, expected 0 and -6000", got)
	}
	if got := meanOfLabels([][]float32{{-200}, {-200}}); math.Abs(float64(got[0])+200) > 1e-4 {
		t.Errorf("logits %v, expected -200", got)
	}
	if got := meanOfClasses(1, [][]float32{{float32(math.NaN())}, {1}}); got[0] == got[0] {
		t.Errorf("logits %v, expected NaN", got)
	}
}
