package tensor

import "context"

// Each optional ability of a [Device] has an interface here, which callers request with
// [Capability].

// Profiler is a device that can time its own work.
type Profiler interface {
	// StartProfile begins to time every program by kernel. On some devices launches then wait for
	// each other, so a profiled program takes longer.
	StartProfile()
	// StopProfile returns the times since StartProfile, the longest first.
	StopProfile() []KernelTime
}

// KernelTime is the total time of the launches of one kernel on a device.
type KernelTime struct {
	Name     string
	Launches int // a launch in several memories together counts once
	Seconds  float64
}

// Measurer is a device that can measure its speed.
type Measurer interface {
	// MeasureCopy returns the bandwidth of a large copy, counting bytes read and written.
	MeasureCopy() (bytesPerSecond float64, err error)
	// MeasureProducts returns the rate of multiply-adds in float32, two operations each.
	MeasureProducts() (flops float64, err error)
}

// OwnMemory is a device with memory of its own, separate from the program's.
type OwnMemory interface {
	// Budget returns the number of free bytes.
	Budget() int64
	// Scratch returns the words of device memory that a program needs besides its regions.
	Scratch(p *Program) (words int, err error)
}

// PreferredBatch is a device that needs many tokens per batch for full utilisation.
type PreferredBatch interface {
	// ForwardTokens returns the number of tokens for full utilisation in a forward pass.
	ForwardTokens() int
}

// Together is a device that small programs do not fully utilise. It runs several of them together,
// in memories that share only data that is read.
type Together interface {
	// Together returns the number of concurrent runs of a small program for full utilisation.
	Together() int
}

// RunTogether runs segments from … to−1 of a program in each of the memories: together on a device
// with [Together], otherwise one after the other. The result of a run does not depend on the
// others.
func RunTogether(ctx context.Context, x Executable, mems []Binding, from, to int) error {
	if t, ok := x.(interface {
		RunTogether(ctx context.Context, mems []Binding, from, to int) error
	}); ok {
		return t.RunTogether(ctx, mems, from, to)
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
	// Mixed reports whether operands have 16 bits and sums 32.
	Mixed() bool
}

// LossScaler is a device whose products may not be able to represent all gradients.
type LossScaler interface {
	// LossScaling reports whether gradients exceed the range of the operands of products unless the
	// loss is scaled.
	LossScaling() bool
}

// Preemptive is a device that shares CPU threads with the rest of the program. An urgent run starts
// there immediately, with as many others as there are slots: these pause until it has ended.
type Preemptive interface {
	// Reserve makes the device leave n threads to others from now on, except for one that it always
	// uses. Running programs continue on fewer threads.
	Reserve(n int)
}

// Wrapper is a device that delegates the computation to another one.
type Wrapper interface {
	Device
	// Unwrap returns the device that computes the results.
	Unwrap() Device
}

// Capability returns a device as one with the ability A: itself, or the device that it wraps.
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
