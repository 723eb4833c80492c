package cpu

import (
	"slices"
	"testing"

	"github.com/sftseq/sftseq/internal/simd"
	"github.com/sftseq/sftseq/internal/tensor"
	"github.com/sftseq/sftseq/internal/tensor/conformance"
)

// TestConformance checks the kernels of every instruction set of this machine, and that results are
// bit-identical for 1, 2 and 3 threads. With -short, for instance under the race detector, it only
// tests the best instruction set and the kernels in Go.
func TestConformance(t *testing.T) {
	levels := simd.Levels()
	if testing.Short() && len(levels) > 2 {
		levels = slices.Delete(slices.Clone(levels), 1, len(levels)-1)
	}
	var groups [][]tensor.Device
	for _, level := range levels {
		groups = append(groups, []tensor.Device{NewLevel(2, level), NewLevel(1, level), NewLevel(3, level)})
	}
	conformance.Run(t, nil, groups...)
}
