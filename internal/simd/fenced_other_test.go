//go:build !linux

package simd

import "testing"

// fenced returns memory for the given number of float32 words. Guard pages require Linux.
func fenced(_ *testing.T, words int) []float32 { return make([]float32, words) }
