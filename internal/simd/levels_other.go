//go:build !amd64

package simd

var levels = []*Kernels{generic}
