package cpu

import (
	"slices"
	"testing"

	"github.com/sftseq/sftseq/internal/simd"
	"github.com/sftseq/sftseq/internal/tensor"
	"github.com/sftseq/sftseq/internal/tensor/conformance"
	"github.com/sftseq/sftseq/internal/testenv"
)

// TestConformance: every instruction set of this machine.
func TestConformance(t *testing.T) {
	testenv.NoRace(t, "TestThreads makes the same launches on more threads")
	for _, level := range simd.Levels() {
		t.Run(level.Name, func(t *testing.T) { conformance.Run(t, NewLevel(2, level), nil) })
	}
}

// TestThreads: the number of threads changes no bit. With -short, as under the race detector,
// the best instruction set and Go stand for those between them.
func TestThreads(t *testing.T) {
	levels := simd.Levels()
	if testing.Short() && len(levels) > 2 {
		levels = slices.Delete(slices.Clone(levels), 1, len(levels)-1)
	}
	var groups [][]tensor.Device
	for _, level := range levels {
		groups = append(groups, []tensor.Device{NewLevel(1, level), NewLevel(2, level), NewLevel(3, level)})
	}
	conformance.Same(t, groups...)
}
