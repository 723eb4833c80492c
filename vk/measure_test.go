//go:build cgo

package vk

import "testing"

// TestMeasure: the rates are those of a machine that exists.
func TestMeasure(t *testing.T) {
	d := open(t)
	for what, measure := range map[string]func() (float64, error){"copy": d.MeasureCopy, "products": d.MeasureProducts} {
		rate, err := measure()
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: %.2f G/s", what, rate/1e9)
		if !(rate > 1e7 && rate < 1e16) {
			t.Errorf("%s: a rate of %v", what, rate)
		}
	}
}
