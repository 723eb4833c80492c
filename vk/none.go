//go:build !cgo

package vk

import (
	"fmt"

	"github.com/sftseq/sftseq/internal/tensor"
)

var errNoCgo = fmt.Errorf("%w: this program was built without cgo; build it with a C compiler and CGO_ENABLED=1", ErrUnavailable)

// Device is never opened in a program without cgo.
type Device struct{ tensor.Device }

// Devices returns [ErrUnavailable].
func Devices() ([]Info, error) { return nil, errNoCgo }

// Open returns [ErrUnavailable].
func Open(Options) (*Device, error) { return nil, errNoCgo }

// Messages returns nothing.
func (*Device) Messages() []string { return nil }
