//go:build !cgo

package vk

import (
	"errors"
	"strings"
	"testing"
)

// TestWithoutCgo checks that the package builds without cgo, and that the errors state how to build it
// with Vulkan.
func TestWithoutCgo(t *testing.T) {
	_, err := Devices()
	d, failed := Open(Options{})
	for _, err := range []error{err, failed} {
		if !errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), "CGO_ENABLED=1") {
			t.Errorf("error %v, want ErrUnavailable with \"CGO_ENABLED=1\"", err)
		}
	}
	if Built || d != nil {
		t.Error("Built or Open reports a device without cgo")
	}
}
