//go:build cgo

package vk

import (
	"os"
	"slices"
	"testing"

	"github.com/sftseq/sftseq/internal/tensor"
	"github.com/sftseq/sftseq/internal/tensor/conformance"
	"github.com/sftseq/sftseq/internal/testenv"
)

// A rerun is a condition under which make test-again repeats some of these tests.
type rerun string

const (
	watched rerun = "the race detector"          // concurrent and failing calls; it checks pointers passed to C
	widths  rerun = "another width of subgroups" // for code that depends on the width
)

// vectorWidth is the environment variable that sets the vector width of lavapipe, Mesa's CPU
// driver, in bits. A subgroup of lavapipe has one invocation for each 32 bits.
const vectorWidth = "LP_NATIVE_VECTOR_WIDTH"

// inReruns skips a test in all reruns except the named ones.
func inReruns(t testing.TB, named ...rerun) {
	t.Helper()
	if !slices.Contains(named, watched) {
		testenv.NoRace(t, "it does not stress the calls into Vulkan")
	}
	if os.Getenv(vectorWidth) != "" && !slices.Contains(named, widths) {
		t.Skipf("independent of %s", widths)
	}
}

// open opens a device under the validation layer, whose messages fail the test. The test is skipped
// in all reruns except the named ones.
func open(t testing.TB, o Options, named ...rerun) *gpu {
	t.Helper()
	inReruns(t, named...)
	if o.Mixed {
		return testenv.NeedMixed(t, openGPU, o)
	}
	return testenv.NeedVulkan(t, openGPU, o)
}

// missing skips a test because Vulkan is missing, for the reason err.
func missing(t testing.TB, err error) {
	t.Helper()
	testenv.Missing(t, "Vulkan and its validation layer", err)
}

// saver is a device that uses the kernels that save registers, for heads of at least 16 channels.
type saver struct{ *gpu }

func (s saver) Name() string { return s.gpu.Name() + " that saves registers" }

// Prepare prepares the program with kernels that save registers if its heads are large enough.
func (s saver) Prepare(p *tensor.Program) (tensor.Executable, error) {
	defer func(before bool) { s.limits.savesRegisters = before }(s.limits.savesRegisters)
	s.limits.savesRegisters = slices.ContainsFunc(p.Launches, func(k tensor.Kernel) bool {
		if b, ok := k.(tensor.AttentionBackward); ok {
			k = b.Forward
		}
		a, ok := k.(tensor.Attention)
		return ok && a.Q.Width()/a.Heads >= 16
	})
	return s.gpu.Prepare(p)
}

// TestConformance compares every kernel on the machine's best device with the float64 reference.
// Kernels that save registers must give the same bits. The test repeats the comparison with the
// limits of a small device.
func TestConformance(t *testing.T) {
	testenv.Long(t, "compares every kernel with loops in float64")
	d := open(t, Options{}, widths)
	wide := os.Getenv(vectorWidth) != "" && d.Info().SubgroupSize > 8
	asked := map[string]bool{}
	keep := func(suite, name string) bool {
		asks := asksSubgroup(suite, name)
		asked[suite] = asked[suite] || asks
		return asks || !wide
	}
	conformance.Run(t, keep, []tensor.Device{d, saver{d}})
	t.Run("small device", func(t *testing.T) {
		small(t, d)
		conformance.Run(t, keep, []tensor.Device{d})
	})
	for shader, suite := range asking {
		if wide && !asked[suite] {
			t.Errorf("%s: no case of %s launches it", shader, suite)
		}
	}
}
