package cpu

import (
	"testing"

	"sftseq/internal/tensor/conformance"
)

func TestConformance(t *testing.T) { conformance.Run(t, New(2)) }

// TestThreads: the number of threads changes no bit.
func TestThreads(t *testing.T) { conformance.Same(t, New(1), New(2), New(3)) }
