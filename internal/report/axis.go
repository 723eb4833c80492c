package report

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// axis maps the values from low to high to pixels.
type axis struct {
	low, high   float64
	from, to    float64 // pixels of low and high
	logarithmic bool
}

func (a axis) at(v float64) float64 {
	low, high := a.low, a.high
	if a.logarithmic {
		v, low, high = math.Log(v), math.Log(low), math.Log(high)
	}
	return a.from + (v-low)/(high-low)*(a.to-a.from)
}

// tick is a value that an axis names.
type tick struct {
	At    float64
	Label string
}

// ticks are about n round values within the axis.
func (a axis) ticks(n int) []tick {
	var values []float64
	if a.logarithmic {
		values = a.decades()
	} else {
		step := roundStep((a.high - a.low) / float64(n))
		first := math.Ceil(a.low/step - 1e-9)
		for i := 0; i <= 2*n && (first+float64(i))*step <= a.high+step*1e-9; i++ {
			values = append(values, (first+float64(i))*step)
		}
	}
	var out []tick
	for _, v := range values {
		out = append(out, tick{a.at(v), inUnit(v, slices.Max(values))})
	}
	return out
}

// decades are the powers of ten within the axis, of few also what is between them.
func (a axis) decades() (out []float64) {
	first, last := math.Floor(math.Log10(a.low)), math.Ceil(math.Log10(a.high))
	factors := []float64{1}
	if last-first <= 3 {
		factors = []float64{1, 2, 5}
	}
	for e := first; e <= last; e++ {
		for _, f := range factors {
			if v := f * math.Pow(10, e); v >= a.low*(1-1e-9) && v <= a.high*(1+1e-9) {
				out = append(out, v)
			}
		}
	}
	return out
}

// roundStep is the least of 1, 2 and 5 times a power of ten that is not below v.
func roundStep(v float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(v)))
	for _, f := range []float64{1, 2, 5} {
		if f*power >= v*(1-1e-9) {
			return f * power
		}
	}
	return 10 * power
}

// spread is the axis of values with a margin; one that is all zeros or one number, too.
func spread(values []float64, from, to float64) axis {
	low, high := slices.Min(values), slices.Max(values)
	margin := 0.05 * (high - low)
	if margin <= 1e-9*max(math.Abs(low), math.Abs(high)) { // the same but for rounding
		if margin = math.Abs(high) * 0.5; margin == 0 {
			margin = 0.5
		}
	}
	if low -= margin; low < 0 && slices.Min(values) >= 0 {
		low = 0 // what is not negative has no axis that is
	}
	return axis{low: low, high: high + margin, from: from, to: to}
}

// short writes a number with four digits and k, M or G for thousands.
func short(v float64) string { return inUnit(v, v) }

// inUnit writes a number in the unit that largest has.
func inUnit(v, largest float64) string {
	unit := ""
	switch a := math.Abs(largest); {
	case a >= 1e9:
		v, unit = v/1e9, "G"
	case a >= 1e6:
		v, unit = v/1e6, "M"
	case a >= 1e4:
		v, unit = v/1e3, "k"
	}
	if v == 0 {
		return "0"
	}
	text := fmt.Sprintf("%.4g", v)
	if mantissa, exponent, found := strings.Cut(text, "e-0"); found {
		text = mantissa + "e-" + exponent
	} else if strings.Contains(text, "e") { // 9999.6
		text = fmt.Sprintf("%.0f", v)
	}
	return text + unit
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
}
