//go:build !linux

package simd

import "testing"

// fenced returns memory for words float32s; guard pages need Linux.
func fenced(_ *testing.T, words int) []float32 { return make([]float32, words) }
