//go:build cgo && linux

package vk

import (
	"os"
	"regexp"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
)

// TestDriversStay checks that a driver stays loaded after the last instance is closed, because some
// drivers can be loaded only a few times.
func TestDriversStay(t *testing.T) {
	t.Setenv("SFTSEQ_VK_VALIDATE", "")
	for range 3 {
		if _, err := Devices(); err != nil {
			skipWithoutVulkan(t, err)
		}
		maps := must.Get(os.ReadFile("/proc/self/maps"))(t)
		if !regexp.MustCompile(`lib(vulkan_|GLX_nvidia|nvidia)[a-z0-9_-]*\.so`).Match(maps) {
			t.Fatal("no driver is loaded after Devices returned")
		}
	}
}
