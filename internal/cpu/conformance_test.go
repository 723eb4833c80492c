package cpu

import (
	"testing"

	"github.com/sftseq/sftseq/internal/simd"
	"github.com/sftseq/sftseq/internal/tensor/conformance"
)

// TestConformance: every instruction set of this machine.
func TestConformance(t *testing.T) {
	for _, level := range simd.Levels() {
		t.Run(level.Name, func(t *testing.T) { conformance.Run(t, NewLevel(2, level)) })
	}
}

// TestThreads: the number of threads changes no bit.
func TestThreads(t *testing.T) {
	for _, level := range simd.Levels() {
		t.Run(level.Name, func(t *testing.T) {
			conformance.Same(t, NewLevel(1, level), NewLevel(2, level), NewLevel(3, level))
		})
	}
}
