package main

import (
	"reflect"
	"slices"
	"testing"
)

// TestCurves checks the running maximum of a curve, and the band of several curves at their common
// steps.
func TestCurves(t *testing.T) {
	a := curve{[]int{10, 20, 30}, []float64{0.5, 0.25, 0.75}}
	if m := a.runningMaximum(); !slices.Equal(m.values, []float64{0.5, 0.5, 0.75}) ||
		a.values[1] != 0.25 || m.last() != 0.75 {
		t.Errorf("running maximum of %+v: got %+v, want the values 0.5, 0.5 and 0.75", a, m)
	}
	steps, values := band([]curve{a, {[]int{10, 30, 40}, []float64{0, 0.25, 1}}})
	if !slices.Equal(steps, []int{10, 30}) || !reflect.DeepEqual(values, []spread{{25, 0, 50}, {50, 25, 75}}) {
		t.Errorf("band: got the steps %v and values %v, want the steps 10 and 30", steps, values)
	}
	if steps, _ := band(nil); steps != nil || (curve{}).last() != 0 {
		t.Errorf("no curves: got the steps %v and the last value %v, want none and 0", steps, curve{}.last())
	}
}
