//go:build !cgo

package vk

import "fmt"

var errNoCgo = fmt.Errorf("%w: this program was built without cgo; build it with a C compiler and CGO_ENABLED=1",
	ErrUnavailable)

// Built reports whether this program is built with Vulkan support, which needs cgo.
const Built = false

// Devices returns an error that wraps [ErrUnavailable].
func Devices() ([]Info, error) { return nil, errNoCgo }

// Open returns an error that wraps [ErrUnavailable].
func Open(Options) (Device, error) { return nil, errNoCgo }
