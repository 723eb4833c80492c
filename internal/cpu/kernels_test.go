package cpu

import (
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/tensor"
)

// TestRegisterTwice checks that register panics if the kernel already has an implementation.
func TestRegisterTwice(t *testing.T) {
	before := len(kernels)
	defer func() {
		if r, _ := recover().(string); !strings.Contains(r, "tensor.Add has two implementations") ||
			len(kernels) != before {
			t.Errorf("got panic %q and %d kernels, want a panic on tensor.Add and %d", r, len(kernels), before)
		}
	}()
	register(byRows(func(*run, tensor.Add) rowwise { return rowwise{} }))
}
