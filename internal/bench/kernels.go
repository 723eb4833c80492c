package bench

import (
	"context"
	"fmt"
	"time"

	"github.com/sftseq/sftseq/internal/tensor"
)

// Kernel is a kernel to be measured, with operands of one size.
type Kernel struct {
	Name string // kernel and direction, such as "attention backward"
	Size string
	work work // replaces the result of [kernelWork] if set
	// build declares the operands and returns the kernel to launch.
	build func(r *fixture) tensor.Kernel
	batch func() *fixture // returns a fixture for the kernel's sequences
}

// Kernels returns the kernels to measure, mostly with shapes of the paper's ListOps model. The kernels
// for sampling have a longer sequence.
func Kernels() []Kernel {
	var out []Kernel
	for _, kernels := range [][]Kernel{linearKernels(), attentionKernels(), relationKernels(), elementKernels(),
		tokenKernels(), updateKernels()} {
		out = append(out, kernels...)
	}
	return out
}

// KernelResult is the measurement of one kernel. Only one of its two rates is set.
type KernelResult struct {
	Kernel  string  `json:"kernel"`
	Size    string  `json:"size"`
	Seconds float64 `json:"seconds"`
	GFLOPS  float64 `json:"gflop_per_s,omitempty"`
	GBPS    float64 `json:"gb_per_s,omitempty"`
	// Ceiling is the rate as a fraction of the device's peak rate; 0 if unknown.
	Ceiling float64 `json:"ceiling_fraction,omitempty"`
}

// kernelTime is the minimum total duration of the repetitions of a kernel.
const kernelTime = 300 * time.Millisecond

// Measure measures the kernel, and compares its rate with the device's peak rates if they are
// known.
func (k Kernel) Measure(ctx context.Context, device tensor.Device, ceilings *Ceilings) (KernelResult, error) {
	r := k.batch()
	launch := k.build(r)
	f, free, err := r.prepare(ctx, device, launch)
	if err != nil {
		return KernelResult{}, fmt.Errorf("%s: %w", k.Name, err)
	}
	defer free()
	if err := f(ctx); err != nil { // warm-up
		return KernelResult{}, fmt.Errorf("%s: %w", k.Name, err)
	}
	seconds, err := kernelSeconds(ctx, f, device)
	if err != nil {
		return KernelResult{}, fmt.Errorf("%s: %w", k.Name, err)
	}
	out := KernelResult{Kernel: k.Name, Size: k.Size, Seconds: seconds}
	const giga = 1e9
	moved, w := r.traffic(launch), k.work
	if w == (work{}) {
		w = kernelWork(launch)
	}
	if n := w.operations(); n > 0 {
		out.GFLOPS = n / seconds / giga
	} else {
		out.GBPS = float64(moved.read+moved.written) / seconds / giga
	}
	if ceilings != nil {
		out.Ceiling = ceilings.seconds(w, moved) / seconds
	}
	return out, nil
}

// kernelSeconds returns the median time of f. For a device with its own memory it returns the mean time
// per run that the device's profiler measures.
func kernelSeconds(ctx context.Context, f Run, device tensor.Device) (float64, error) {
	if _, ownMemory := tensor.Capability[tensor.OwnMemory](device); !ownMemory {
		return Seconds(ctx, f, 3, kernelTime)
	}
	runs, total := 0, 0.0
	times, err := kernelTimes(device, func() error {
		_, err := Seconds(ctx, func(ctx context.Context) error { runs++; return f(ctx) }, 3, kernelTime)
		return err
	})
	for _, t := range times {
		total += t.Seconds
	}
	return total / float64(runs), err
}

// kernelTimes returns the times that the device measures for the kernels of f.
func kernelTimes(device tensor.Device, f func() error) ([]tensor.KernelTime, error) {
	p, ok := tensor.Capability[tensor.Profiler](device)
	if !ok {
		return nil, noProfiler(device)
	}
	p.StartProfile()
	err := f()
	return p.StopProfile(), err
}

func noProfiler(device tensor.Device) error {
	return fmt.Errorf("%s cannot time its kernels: expected the CPU or a Vulkan device", device.Name())
}
