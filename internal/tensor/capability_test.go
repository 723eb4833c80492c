package tensor_test

import (
	"testing"

	"github.com/sftseq/sftseq/internal/cpu"
	"github.com/sftseq/sftseq/internal/tensor"
	"github.com/sftseq/sftseq/internal/tensor/lockstep"
)

// lossScaling is a device with the capability LossScaler.
type lossScaling struct{ tensor.Device }

func (lossScaling) LossScaling() bool { return true }

// TestCapability checks that a wrapper has the capabilities of the device that it wraps.
func TestCapability(t *testing.T) {
	scaler, plain := lossScaling{cpu.New(1)}, cpu.New(1)
	var choices lockstep.Choices
	for name, c := range map[string]struct {
		device tensor.Device
		scaler bool
	}{
		"device":                                     {scaler, true},
		"device without the capability":              {plain, false},
		"wrapper that records choices":               {choices.Record(scaler), true},
		"wrapper that gives choices":                 {choices.Give(scaler), true},
		"first device of a comparison":               {lockstep.New(scaler, plain), true},
		"second device of a comparison":              {lockstep.New(plain, scaler), false},
		"two wrappers":                               {choices.Record(lockstep.New(scaler, plain)), true},
		"wrapper of a device without the capability": {choices.Record(plain), false},
	} {
		if s, ok := tensor.Capability[tensor.LossScaler](c.device); ok != c.scaler || ok && !s.LossScaling() {
			t.Errorf("%s: got the capability LossScaler: %v, want %v", name, ok, c.scaler)
		}
		if _, ok := tensor.Capability[tensor.OwnMemory](c.device); ok {
			t.Errorf("%s: got the capability OwnMemory, want none", name)
		}
	}
}
