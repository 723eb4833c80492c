package metrics

import "testing"

// TestRegressionMean: the mean absolute error of several numbers is the mean of each one's, and R² that
// of those that define it.
func TestRegressionMean(t *testing.T) {
	r := NewRegression(2)
	r.Add([]float32{1, 5}, []float32{2, 5})
	r.Add([]float32{3, 9}, []float32{0, 5})
	if n := r.Numbers(); n[0].MAE != 2 || n[1].MAE != 2 || !near(n[0].RMSE*n[0].RMSE, 5) || n[1].Defined {
		t.Errorf("%+v", n)
	}
	r.Add([]float32{4, 5}, []float32{1, 5})
	if mean := r.MAE(); !near(mean, (7./3+4./3)/2) {
		t.Errorf("MAE %v", mean)
	}
	if r2, ok := r.R2(); !ok || !near(r2, 1-19./2) {
		t.Errorf("R² %v, %v", r2, ok)
	}
}
