package sft

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"sftseq/internal/cpu"
	"sftseq/internal/tensor"
)

// card is a device with memory of its own.
type card struct {
	tensor.Device
	budget  int64
	scratch int
}

func (d card) Budget() int64                                  { return d.budget }
func (d card) Scratch(*tensor.Program) (words int, err error) { return d.scratch, nil }

// TestOwnMemory: without a limit a device's own memory is one, and what does not
// fit is refused before anything is trained, with what would fit.
func TestOwnMemory(t *testing.T) {
	m := NewModel(trainingConfig(), 1)
	lanes := func(d tensor.Device, length int, limit int64) (int, error) {
		s, err := NewStepper(m, runSettings(), d, length, limit)
		if err != nil {
			return 0, err
		}
		return len(s.gradients.lanes), nil
	}
	const length = 2 * groupTokens
	d := card{Device: cpu.New(3), budget: 1 << 40}
	if n, err := lanes(d, length, 0); n != 3 || err != nil {
		t.Errorf("%d lanes, error %v", n, err)
	}
	d.budget = 1 << 20
	_, err := lanes(d, length, 0)
	var full *MemoryError
	if !errors.As(err, &full) {
		t.Fatalf("error %v", err)
	}
	weights := int64(m.Parameters.Words) * wordBytes
	if full.Limit != d.budget+weights || full.Need <= full.Limit || full.Longest != length || full.Fits < 1 || full.Fits >= length {
		t.Errorf("%+v", full)
	}
	if want := fmt.Sprintf("; up to %d tokens would fit", full.Fits); !strings.HasSuffix(err.Error(), want) {
		t.Errorf("%v, expected %q", err, want)
	}
	if n, err := lanes(d, full.Fits, 0); n != 1 || err != nil {
		t.Errorf("%d tokens: %d lanes, error %v", full.Fits, n, err)
	}
	if _, err := lanes(d, full.Fits+1, 0); !errors.As(err, &full) {
		t.Errorf("%d tokens: error %v", full.Fits+1, err)
	}
	// What is needed is enough, and a word of scratch more is not.
	d.budget = full.Need - weights
	fits := full.Longest
	if n, err := lanes(d, fits, 0); n != 1 || err != nil {
		t.Errorf("%d lanes, error %v", n, err)
	}
	d.scratch = 1
	if _, err := lanes(d, fits, 0); !errors.As(err, &full) {
		t.Errorf("error %v", err)
	}
	d.budget = 1 << 40
	if _, err := lanes(d, fits, weights); !errors.As(err, &full) || full.Limit != weights || full.Fits != 0 {
		t.Errorf("a limit on all of the memory: error %v", err)
	}
}
