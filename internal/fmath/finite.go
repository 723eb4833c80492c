package fmath

import "slices"

// Finite reports whether all numbers are finite.
func Finite(x []float32) bool {
	return !slices.ContainsFunc(x, func(v float32) bool { return v-v != 0 })
}
