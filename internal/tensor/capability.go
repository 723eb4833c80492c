package tensor

import "context"

// A [Device] may have optional capabilities. Each capability is an interface in this file, which
// callers request with [Capability].

// Profiler is a device that can measure the time of its kernels.
type Profiler interface {
	// StartProfile starts to measure every run that begins after the call. On some devices launches
	// then wait for each other, so a profiled run takes longer.
	StartProfile()
	// StopProfile returns the times since StartProfile, longest first.
	StopProfile() []KernelTime
}

// KernelTime is the total time of the launches of one kernel on a device.
type KernelTime struct {
	Name     string
	Launches int // a launch that runs concurrently in several memories counts once
	Seconds  float64
}

// Measurer is a device that can measure its speed.
type Measurer interface {
	// MeasureCopy returns the bandwidth of a large copy; it counts both bytes read and bytes
	// written.
	MeasureCopy() (bytesPerSecond float64, err error)
	// MeasureProducts returns the peak rate of float32 multiply-adds, an upper bound for matrix products
	// in float32. A multiply-add counts as two operations.
	MeasureProducts() (flops float64, err error)
}

// OwnMemory is a device whose programs run in device memory, such as a GPU. Some GPUs share this memory
// with the CPU.
type OwnMemory interface {
	// Budget returns the number of bytes of device memory that are free for programs.
	Budget() int64
	// Scratch returns the number of words of device memory that a program needs besides its
	// regions.
	Scratch(p *Program) (words int, err error)
}

// PreferredBatch is a device that needs many tokens per batch for full utilisation.
type PreferredBatch interface {
	// ForwardTokens returns the number of tokens per batch that fully utilises the device in a
	// forward pass.
	ForwardTokens() int
}

// ConcurrentRunner is a device that a single small program does not fully utilise. It can run a
// program concurrently in several memories, which share only read-only data.
type ConcurrentRunner interface {
	// ConcurrentRuns returns the number of concurrent runs of a small program that fully utilises
	// the device.
	ConcurrentRuns() int
}

// RunConcurrently runs the segments [from, to) of a program in each of the memories. The runs are
// concurrent on a [ConcurrentRunner], and sequential on other devices. The result of a run does not depend
// on the other runs.
func RunConcurrently(ctx context.Context, x Executable, mems []Binding, from, to int) error {
	if t, ok := x.(interface {
		RunConcurrently(ctx context.Context, mems []Binding, from, to int) error
	}); ok {
		return t.RunConcurrently(ctx, mems, from, to)
	}
	for _, mem := range mems {
		if err := x.Run(ctx, mem, from, to); err != nil {
			return err
		}
	}
	return nil
}

// MixedPrecision is a device that can multiply matrices in half precision.
type MixedPrecision interface {
	// Mixed reports whether matrix products read 16-bit operands and add in 32 bits.
	Mixed() bool
}

// LossScaler is a device whose matrix products may not represent all gradients.
type LossScaler interface {
	// LossScaling reports whether the loss must be scaled to keep gradients in the range of the
	// products' operands.
	LossScaling() bool
}

// Preemptive is a device that shares CPU threads with the rest of the program. One urgent run at a time
// preempts the other runs: it starts even if all slots are occupied, and they pause until it has ended.
type Preemptive interface {
	// Reserve reserves n threads for work outside the device. The device keeps at least one thread.
	// Running programs continue on fewer threads.
	Reserve(n int)
}

// Wrapper is a device that delegates computation to another device.
type Wrapper interface {
	Device
	// Unwrap returns the device that computes the results.
	Unwrap() Device
}

// Capability returns the first device that implements A: d, the device that d wraps, and so on. ok is
// false if none of these devices implements A.
func Capability[A any](d Device) (able A, ok bool) {
	for {
		if able, ok = d.(A); ok {
			return able, true
		}
		w, wraps := d.(Wrapper)
		if !wraps {
			return able, false
		}
		d = w.Unwrap()
	}
}
