//go:build !cgo

package vk

import (
	"errors"
	"strings"
	"testing"
)

// TestWithoutCgo checks that the program builds, and the error says how to get Vulkan.
func TestWithoutCgo(t *testing.T) {
	_, err := Devices()
	d, failed := Open(Options{})
	for _, err := range []error{err, failed} {
		if !errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), "CGO_ENABLED=1") {
			t.Errorf("error %v", err)
		}
	}
	if Built || d != nil {
		t.Error("a device without cgo")
	}
}
