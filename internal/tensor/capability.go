package tensor

import "context"

// A device may be able to do more than a [Device] must. Each such ability has an
// interface here; who wants one asks [Capability].

// Profiler is a device that can time its work from within.
type Profiler interface {
	// StartProfile has every program timed from now on, part by part. On some devices
	// one waits for the one before then, so that a profiled program takes longer.
	StartProfile()
	// StopProfile returns the times since StartProfile, the longest first.
	StopProfile() []KernelTime
}

// KernelTime is what the launches of one part of a kernel took on a device.
type KernelTime struct {
	Name     string
	Launches int // one in several memories together counts once
	Seconds  float64
}

// Measurer is a device that can tell how fast it is.
type Measurer interface {
	// MeasureCopy returns the bandwidth of a large copy, bytes read and written
	// ones together.
	MeasureCopy() (bytesPerSecond float64, err error)
	// MeasureProducts returns the rate of multiplications with additions in
	// float32, two operations each.
	MeasureProducts() (flops float64, err error)
}

// OwnMemory is a device with memory of its own, apart from the program's.
type OwnMemory interface {
	// Budget is how many bytes of it are left.
	Budget() int64
	// Scratch is how many words a program takes of it beside its regions.
	Scratch(p *Program) (words int, err error)
}

// PreferredBatch is a device that needs many tokens at once to be busy.
type PreferredBatch interface {
	// ForwardTokens is the number of tokens that keep it so in a forward pass.
	ForwardTokens() int
}

// Together is a device that small programs leave idle in part: it runs several of them
// together, in memories that share nothing but what is only read.
type Together interface {
	// Together is how many runs of a small program keep it busy.
	Together() int
}

// RunTogether runs segments from … to−1 of a program in each of the memories: together on a
// device with [Together], otherwise one after the other. What a run computes does not depend
// on the others.
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
	// Mixed says whether it does: operands have 16 bits then, sums 32.
	Mixed() bool
}

// LossScaler is a device whose products may not hold all gradients.
type LossScaler interface {
	// LossScaling says whether gradients leave the range of the operands of
	// products, unless the loss is multiplied.
	LossScaling() bool
}

// Preemptive is a device that shares the processors with the rest of the program. An
// urgent run computes at once there, beside as many others as there are slots: these stop
// until it has ended.
type Preemptive interface {
	// Reserve has the device leave n processors to others from now on, but for one that it
	// always uses: what runs stops in part.
	Reserve(n int)
}

// Wrapper is a device that has another one compute.
type Wrapper interface {
	Device
	// Unwrap returns the device whose results it gives.
	Unwrap() Device
}

// Capability returns a device as one with the ability A: itself, or the one that it
// wraps.
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
