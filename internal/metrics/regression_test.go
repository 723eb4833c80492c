package metrics

import "testing"

// TestRegressionMean checks that MAE averages over all predicted numbers, and that R2 averages over
// the numbers whose R² is defined.
func TestRegressionMean(t *testing.T) {
	r := NewRegression(2)
	r.Add([]float32{1, 5}, []float32{2, 5})
	r.Add([]float32{3, 9}, []float32{0, 5})
	if n := r.Numbers(); n[0].MAE != 2 || n[1].MAE != 2 || !near(n[0].RMSE*n[0].RMSE, 5) || n[1].Defined {
		t.Errorf("got errors %+v, want MAE 2 for both, RMSE √5 for the first, no R² for the second", n)
	}
	r.Add([]float32{4, 5}, []float32{1, 5})
	if mean := r.MAE(); !near(mean, (7./3+4./3)/2) {
		t.Errorf("got MAE %v, want the mean of 7/3 and 4/3", mean)
	}
	if r2, ok := r.R2(); !ok || !near(r2, 1-19./2) {
		t.Errorf("got R² %v, %v, want 1 − 19/2", r2, ok)
	}
}
