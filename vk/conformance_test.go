//go:build cgo

package vk

import (
	"os"
	"testing"

	"github.com/sftseq/sftseq/internal/tensor/conformance"
)

// open opens a device under the validation layer, and fails the test at its end
// if that has complained of anything. Without Vulkan the test is skipped as
// skipWithout does, and without cooperative matrices in any case: few processors'
// drivers have them, Mesa's from version 26.1 on.
func open(t testing.TB, o Options) *gpu {
	t.Helper()
	t.Setenv("SFTSEQ_VK_VALIDATE", "1")
	d, err := openGPU(o)
	switch {
	case err != nil && o.Mixed:
		t.Skip(err)
	case err != nil:
		skipWithout(t, err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
		for _, m := range d.Messages() {
			t.Error("validation: ", m)
		}
	})
	return d
}

// skipWithout skips a test that needs Vulkan, except where CI=true, which has it.
func skipWithout(t testing.TB, err error) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatal(err)
	}
	t.Skip("Vulkan and its validation layer are needed: ", err)
}

// TestConformance: every kernel on the machine's best device, then within the
// limits of a small one.
func TestConformance(t *testing.T) {
	d := open(t, Options{})
	conformance.Run(t, d)
	t.Run("small device", func(t *testing.T) {
		small(t, d)
		conformance.Run(t, d)
	})
}
