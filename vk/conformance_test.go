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

// rerun is a condition under which make test-again repeats some tests of this package.
type rerun string

const (
	underRace      rerun = "the race detector"          // for concurrent calls, failing calls and pointers passed to C
	subgroupWidths rerun = "another width of subgroups" // for code that depends on the width
)

// vectorWidth is the environment variable that sets the vector width of lavapipe, Mesa's CPU
// driver, in bits. A subgroup of lavapipe has one invocation for each 32 bits.
const vectorWidth = "LP_NATIVE_VECTOR_WIDTH"

// skipInReruns skips a test in all reruns except the named ones.
func skipInReruns(t testing.TB, except ...rerun) {
	t.Helper()
	if !slices.Contains(except, underRace) {
		testenv.NoRace(t, "it does not stress the calls into Vulkan")
	}
	if os.Getenv(vectorWidth) != "" && !slices.Contains(except, subgroupWidths) {
		t.Skipf("independent of %s", subgroupWidths)
	}
}

// open opens a device under the validation layer, whose messages fail the test. The test is skipped
// in all reruns except the named ones.
func open(t testing.TB, o Options, inReruns ...rerun) *gpu {
	t.Helper()
	skipInReruns(t, inReruns...)
	if o.Mixed {
		return testenv.NeedMixed(t, openGPU, o)
	}
	return testenv.NeedVulkan(t, openGPU, o)
}

// skipWithoutVulkan skips a test because Vulkan is missing. The error states the reason.
func skipWithoutVulkan(t testing.TB, err error) {
	t.Helper()
	testenv.Missing(t, "Vulkan and its validation layer", err)
}

// registerSaver is a device that uses the kernels that save registers, for heads of at least 16 channels.
type registerSaver struct{ *gpu }

func (s registerSaver) Name() string { return s.gpu.Name() + " that saves registers" }

// Prepare prepares the program with kernels that save registers if its heads are large enough.
func (s registerSaver) Prepare(p *tensor.Program) (tensor.Executable, error) {
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
// Kernels that save registers must produce bitwise identical results. The test repeats the comparison with the
// limits of a small device.
func TestConformance(t *testing.T) {
	testenv.Long(t, "compares every kernel with loops in float64")
	d := open(t, Options{}, subgroupWidths)
	wide := os.Getenv(vectorWidth) != "" && d.Info().SubgroupSize > 8
	covered := map[string]bool{}
	keep := func(suite, name string) bool {
		depends := usesSubgroup(suite, name)
		covered[suite] = covered[suite] || depends
		return depends || !wide
	}
	conformance.Run(t, keep, []tensor.Device{d, registerSaver{d}})
	t.Run("small device", func(t *testing.T) {
		setMinimalLimits(t, d)
		conformance.Run(t, keep, []tensor.Device{d})
	})
	for shader, suite := range subgroupShaders {
		if wide && !covered[suite] {
			t.Errorf("%s: no case of %s launches it", shader, suite)
		}
	}
}
