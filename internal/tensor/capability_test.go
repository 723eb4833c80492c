package tensor_test

import (
	"testing"

	"github.com/sftseq/sftseq/internal/cpu"
	"github.com/sftseq/sftseq/internal/tensor"
	"github.com/sftseq/sftseq/internal/tensor/lockstep"
)

// scaling is a device with the capability LossScaler.
type scaling struct{ tensor.Device }

func (scaling) LossScaling() bool { return true }

// TestAbility checks that a wrapper has the capabilities of the device that it wraps.
func TestAbility(t *testing.T) {
	able, plain := scaling{cpu.New(1)}, cpu.New(1)
	var choices lockstep.Choices
	for name, c := range map[string]struct {
		device tensor.Device
		able   bool
	}{
		"itself":           {able, true},
		"without":          {plain, false},
		"recorded":         {choices.Record(able), true},
		"given":            {choices.Give(able), true},
		"checked":          {lockstep.New(able, plain), true},
		"beside":           {lockstep.New(plain, able), false},
		"wrapped twice":    {choices.Record(lockstep.New(able, plain)), true},
		"without, wrapped": {choices.Record(plain), false},
	} {
		if s, ok := tensor.Capability[tensor.LossScaler](c.device); ok != c.able || ok && !s.LossScaling() {
			t.Errorf("%s: got %v, want %v", name, ok, c.able)
		}
		if _, ok := tensor.Capability[tensor.OwnMemory](c.device); ok {
			t.Errorf("%s: got the capability OwnMemory, want none", name)
		}
	}
}
