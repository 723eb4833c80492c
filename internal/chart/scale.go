package chart

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// Scale maps values between Low and High to pixels.
type Scale struct {
	Low, High   float64
	From, To    float64 // pixels of Low and High
	Logarithmic bool
}

// At returns the pixel of a value.
func (a Scale) At(v float64) float64 {
	low, high := a.Low, a.High
	if a.Logarithmic {
		v, low, high = math.Log(v), math.Log(low), math.Log(high)
	}
	return a.From + (v-low)/(high-low)*(a.To-a.From)
}

// tick is a labelled position on an axis in pixels. The label is empty if there is no room.
type tick struct {
	At          float64
	Label, Note string
}

// ticks returns at least two ticks at round values: about n on a linear scale, or the values that decades
// returns on a logarithmic scale.
func (a Scale) ticks(n int) []tick {
	var values []float64
	if a.Logarithmic {
		values = a.decades()
	}
	for ; len(values) < 2; n++ { // on a short axis, decades may return fewer than two values
		values = a.roundValues(n)
	}
	var out []tick
	for _, v := range values {
		label := formatInUnit(v, slices.Max(values))
		if a.Logarithmic {
			label = Short(v)
		}
		out = append(out, tick{At: a.At(v), Label: label})
	}
	return out
}

// roundValues returns the multiples of a round step within the axis.
func (a Scale) roundValues(n int) (out []float64) {
	step := roundStep((a.High - a.Low) / float64(n))
	first := math.Ceil(a.Low/step - 1e-9)
	for i := 0; i <= 2*n && (first+float64(i))*step <= a.High+step*1e-9; i++ {
		out = append(out, (first+float64(i))*step)
	}
	return out
}

// decades returns the powers of ten within the axis. For few decades it includes 2 and 5 times each
// power.
func (a Scale) decades() (out []float64) {
	first, last := math.Floor(math.Log10(a.Low)), math.Ceil(math.Log10(a.High))
	factors := []float64{1}
	if last-first <= 3 {
		factors = []float64{1, 2, 5}
	}
	for e := first; e <= last; e++ {
		for _, f := range factors {
			if v := f * math.Pow(10, e); v >= a.Low*(1-1e-9) && v <= a.High*(1+1e-9) {
				out = append(out, v)
			}
		}
	}
	return out
}

// roundStep returns the smallest number not below v that is 1, 2 or 5 times a power of ten.
func roundStep(v float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(v)))
	for _, f := range []float64{1, 2, 5} {
		if f*power >= v*(1-1e-9) {
			return f * power
		}
	}
	return 10 * power
}

// paddedScale returns a scale of values with a margin, even if all values are zero or equal. The
// parameters from and to are the pixels of its limits.
func paddedScale(values []float64, from, to float64) Scale {
	low, high := slices.Min(values), slices.Max(values)
	margin := 0.05 * (high - low)
	if margin <= 1e-9*max(math.Abs(low), math.Abs(high)) || margin < 1/maxValue { // equal up to rounding
		if margin = math.Abs(high) * 0.5; margin < 1/maxValue { // smaller values have no round steps
			margin = 0.5
		}
	}
	if low -= margin; low < 0 && slices.Min(values) >= 0 {
		low = 0 // without negative values the axis begins at 0
	}
	return Scale{Low: low, High: high + margin, From: from, To: to}
}

// Short formats a number to four significant digits, and with k, M or G for thousands (from
// 10,000), millions or billions.
func Short(v float64) string { return formatInUnit(v, v) }

// formatInUnit formats a number in the unit of largest.
func formatInUnit(v, largest float64) string {
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
	} else if strings.Contains(text, "e") { // such as 9999.6
		text = fmt.Sprintf("%.0f", v)
	}
	return text + unit
}
