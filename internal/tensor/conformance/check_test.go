package conformance

import (
	"context"
	"errors"
	"strings"
	"testing"

	"sftseq/internal/cpu"
	"sftseq/internal/tensor"
)

// lacking is a device without a kernel.
type lacking struct {
	tensor.Device
	kernel string
}

var errLacking = errors.New("no such kernel")

func (d lacking) Prepare(p *tensor.Program) (tensor.Executable, error) {
	if p.Launches[0].Name() == d.kernel {
		return nil, errLacking
	}
	return d.Device.Prepare(p)
}

// TestCheck: what fails is reported under its name, and the rest is checked.
func TestCheck(t *testing.T) {
	device := lacking{cpu.New(0), "gelu_backward"}
	seen, failed := 0, 0
	if err := Check(t.Context(), device, "", func(r Result) {
		seen++
		if !strings.HasPrefix(r.Case, r.Kernel) {
			t.Errorf("%q is a case of %s", r.Case, r.Kernel)
		}
		switch {
		case r.Kernel == device.kernel:
			failed++
			if len(r.Errors) != 1 || !errors.Is(r.Errors[0], errLacking) {
				t.Errorf("%s: errors %v", r.Case, r.Errors)
			}
		case len(r.Errors) > 0 || r.Worst < 0 || r.Worst > 1:
			t.Errorf("%s: %v, %v of the tolerance", r.Case, r.Errors, r.Worst)
		}
	}); err != nil {
		t.Error(err)
	}
	if seen != Cases("") || failed == 0 || failed == seen {
		t.Errorf("%d of %d cases, %d of the kernel that is not there", seen, Cases(""), failed)
	}
}

// TestCheckOnly: one kernel and its backward.
func TestCheckOnly(t *testing.T) {
	kernels := map[string]int{}
	err := Check(t.Context(), cpu.New(1), "gelu", func(r Result) { kernels[r.Kernel]++ })
	if forward, backward := kernels["gelu"], kernels["gelu_backward"]; err != nil || forward == 0 || backward == 0 || len(kernels) != 2 || forward+backward != Cases("gelu") {
		t.Errorf("%v, error %v", kernels, err)
	}
	if n := Cases("abacus"); n != 0 {
		t.Errorf("%d cases of a kernel that is not there", n)
	}
}

func TestCheckStops(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	seen := 0
	err := Check(ctx, cpu.New(1), "", func(Result) {
		seen++
		cancel()
	})
	if !errors.Is(err, context.Canceled) || seen != 1 {
		t.Errorf("%d cases, error %v", seen, err)
	}
}
