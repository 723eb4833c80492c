package fmath

import (
	"math"
	"slices"
)

const (
	infinity = 0x7f800000 // bits of +Inf
	one      = 0x3f800000 // bits of 1
)

// abs returns |x|.
func abs(x float32) float32 {
	return math.Float32frombits(math.Float32bits(x) &^ (1 << 31))
}

// choose returns negative if the sign bit of x is set, otherwise positive. It does not branch,
// because the sign of an activation is not predictable.
func choose(x, negative, positive float32) float32 {
	mask := uint32(int32(math.Float32bits(x)) >> 31)
	n, p := math.Float32bits(negative), math.Float32bits(positive)
	return math.Float32frombits(p ^ (p^n)&mask)
}

// relu returns max(x, 0), and 0 for a NaN with its sign bit set.
func relu(x float32) float32 {
	b := math.Float32bits(x)
	return math.Float32frombits(b &^ uint32(int32(b)>>31))
}

// Finite reports whether all numbers are finite.
func Finite(x []float32) bool {
	return !slices.ContainsFunc(x, func(v float32) bool { return v-v != 0 })
}
