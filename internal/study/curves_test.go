package study

import (
	"reflect"
	"slices"
	"testing"
)

// TestCurves: running maxima, and the band of curves at the steps that they share.
func TestCurves(t *testing.T) {
	a := Curve{[]int{10, 20, 30}, []float64{0.5, 0.25, 0.75}}
	if m := a.RunningMaximum(); !slices.Equal(m.Values, []float64{0.5, 0.5, 0.75}) || a.Values[1] != 0.25 || m.Last() != 0.75 {
		t.Errorf("%+v of %+v", m, a)
	}
	steps, values := Band([]Curve{a, {[]int{10, 30, 40}, []float64{0, 0.25, 1}}})
	if !slices.Equal(steps, []int{10, 30}) || !reflect.DeepEqual(values, []Spread{{0.25, 0, 0.5}, {0.5, 0.25, 0.75}}) {
		t.Errorf("%v, %v", steps, values)
	}
	if steps, _ := Band(nil); steps != nil || (Curve{}).Last() != 0 {
		t.Errorf("nothing has %v", steps)
	}
}
