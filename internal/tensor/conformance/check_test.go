package conformance

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/cpu"
	"github.com/sftseq/sftseq/internal/tensor"
	"github.com/sftseq/sftseq/internal/testenv"
)

// deviceWithout is a device that does not implement one kernel.
type deviceWithout struct {
	tensor.Device
	kernel string
}

var errNoKernel = errors.New("no such kernel")

func (d deviceWithout) Prepare(p *tensor.Program) (tensor.Executable, error) {
	if tensor.Name(p.Launches[0]) == d.kernel {
		return nil, errNoKernel
	}
	return d.Device.Prepare(p)
}

// check runs the cases whose suite name or kernel name contains the filter, until a suite returns an
// error. It returns the number of these cases, including cases that did not run.
func check(ctx context.Context, device tensor.Device, filter string, observe func(Result)) (cases int, err error) {
	for _, s := range Select(filter) {
		cases += len(s.Cases)
		if err == nil {
			err = s.Check(ctx, device, observe)
		}
	}
	return cases, err
}

// TestCheck checks that a failing case is reported under its name, and that the remaining cases
// still run.
func TestCheck(t *testing.T) {
	testenv.Long(t, "runs the whole suite, as TestConformance of the devices does")
	device := deviceWithout{cpu.New(0), "gelu_backward"}
	seen, failed := 0, 0
	cases, err := check(t.Context(), device, "", func(r Result) {
		seen++
		if name, _, _ := strings.Cut(r.Case, " "); name != r.Kernel || !slices.Contains(Kernels(), name) {
			t.Errorf("the case %q has kernel %s, want its first word", r.Case, r.Kernel)
		}
		switch {
		case r.Kernel == device.kernel:
			failed++
			if len(r.Errors) != 1 || !errors.Is(r.Errors[0], errNoKernel) {
				t.Errorf("%s: got errors %v, want the missing kernel", r.Case, r.Errors)
			}
		case len(r.Errors) > 0 || r.Worst < 0 || r.Worst > 1:
			t.Errorf("%s: got errors %v and %v of the tolerance, want no errors and at most 1", r.Case, r.Errors,
				r.Worst)
		}
	})
	if err != nil || seen != cases || failed == 0 || failed == seen {
		t.Errorf("observed %d of %d cases, %d of them of kernel %s; error %v; want all cases, also of other kernels",
			seen, cases, failed, device.kernel, err)
	}
}

// TestSelect checks the selection of a kernel with its gradient, of a gradient alone, of a kernel in the
// suite of another kernel, and of a name without cases.
func TestSelect(t *testing.T) {
	for only, want := range map[string][]string{
		"gelu": {"gelu", "gelu_backward"}, "gelu_backward": {"gelu_backward"},
		"sumsquares": {"sumsquares"}, "abacus": {},
	} {
		kernels := map[string]int{}
		cases, err := check(t.Context(), cpu.New(1), only, func(r Result) { kernels[r.Kernel]++ })
		if names := slices.Sorted(maps.Keys(kernels)); err != nil || !slices.Equal(names, want) ||
			(cases == 0) != (len(want) == 0) {
			t.Errorf("%s: got kernels %v, want %v; error %v", only, kernels, want, err)
		}
	}
}

// TestCheckStops checks that Check returns the context's error and observes no further case after the
// context ends.
func TestCheckStops(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	seen := 0
	_, err := check(ctx, cpu.New(1), "", func(Result) {
		seen++
		cancel()
	})
	if !errors.Is(err, context.Canceled) || seen != 1 {
		t.Errorf("observed %d cases with error %v, want 1 with error %v", seen, err, context.Canceled)
	}
}
