package configtest

import (
	"os"
	"testing"

	"github.com/sftseq/sftseq/internal/cpu"
	"github.com/sftseq/sftseq/internal/simd"
	"github.com/sftseq/sftseq/internal/tensor"
	"github.com/sftseq/sftseq/internal/testenv"
	"github.com/sftseq/sftseq/vk"
)

// Vulkan opens the machine's best Vulkan device under the validation layer. It skips the test if
// SFTSEQ_SIMD selects the CPU's kernels, because no Vulkan kernel depends on that variable.
func Vulkan(t testing.TB) tensor.Device {
	t.Helper()
	if os.Getenv("SFTSEQ_SIMD") != "" {
		t.Skip("left out with SFTSEQ_SIMD: no Vulkan kernel depends on it")
	}
	return testenv.NeedVulkan(t, vk.Open, vk.Options{}).(tensor.Device)
}

// OnEveryDevice runs f for each folder on each SIMD level of this machine and on Vulkan. With -short
// it leaves out Vulkan, and runs only the best SIMD level and the kernels in plain Go, whose code the
// other levels share.
func OnEveryDevice(t *testing.T, folders []string, f func(t *testing.T, name string, device tensor.Device)) {
	levels := simd.Levels()
	if testing.Short() && len(levels) > 2 {
		levels = []*simd.Kernels{levels[0], levels[len(levels)-1]}
	}
	for _, level := range levels {
		for _, name := range folders {
			t.Run(level.Name+"/"+name, func(t *testing.T) { f(t, name, cpu.NewLevel(2, level)) })
		}
	}
	t.Run("vulkan", func(t *testing.T) {
		testenv.Long(t, "takes a long time")
		device := Vulkan(t)
		for _, name := range folders {
			t.Run(name, func(t *testing.T) { f(t, name, device) })
		}
	})
}

// Card is a device with its own memory: Limit bytes, and ScratchWords of scratch memory per
// program.
type Card struct {
	tensor.Device
	Limit        int64
	ScratchWords int
}

func (d Card) Budget() int64 { return d.Limit }

func (d Card) Scratch(*tensor.Program) (words int, err error) { return d.ScratchWords, nil }

// OnEveryKind runs f with three CPU devices, of one, two and three threads, whose results are bitwise
// identical. Without -short it then runs f with a Vulkan device.
func OnEveryKind(t *testing.T, f func(t *testing.T, devices ...tensor.Device)) {
	t.Run("cpu", func(t *testing.T) { f(t, cpu.New(1), cpu.New(2), cpu.New(3)) })
	if !testing.Short() {
		t.Run("vulkan", func(t *testing.T) { f(t, Vulkan(t)) })
	}
}
