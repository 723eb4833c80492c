package tensor

import "context"

// Device runs programs.
type Device interface {
	// Name describes the device to a person.
	Name() string
	// Kernels names what computes: bits are promised for one kind.
	Kernels() string
	// Lanes is the number of programs that the device is best given at once.
	Lanes() int
	// Allocate returns zeroed memory of the device, in words.
	Allocate(words int) (Memory, error)
	// Prepare makes a program ready to run. It may be run many times, from
	// several goroutines if each brings its own arena, inputs and gradients.
	Prepare(p *Program) (Executable, error)
	// Close frees the device. Memory and executables are dead afterwards.
	Close() error
}

// Memory is a block of device memory, addressed in 4-byte words.
type Memory interface {
	Words() int
	Write(offset int, words []uint32) error
	Read(offset int, words []uint32) error
	Free()
}

// Binding gives a run its memory, one block a space.
type Binding [Spaces]Memory

// Executable is a program made ready for one device.
type Executable interface {
	// Run runs the segments from, …, to−1 in order. It looks at ctx between
	// segments and returns its error.
	Run(ctx context.Context, mem Binding, from, to int) error
	// Inspect runs like Run, and calls visit after each launch, while what the
	// launch wrote is still in the arena. An error from visit ends the run.
	Inspect(ctx context.Context, mem Binding, from, to int, visit func(k Kernel) error) error
}

// Profiler is a device that can time its work from within.
type Profiler interface {
	// StartProfile has every program timed from now on, part by part: one waits
	// for the one before, so that a profiled program takes longer.
	StartProfile()
	// StopProfile returns the times since StartProfile, the longest first.
	StopProfile() []KernelTime
}

// KernelTime is what the launches of one part of a kernel took on a device.
type KernelTime struct {
	Name     string
	Launches int
	Seconds  float64
}

// Upload writes x to the start of t.
func Upload[T Word](m Memory, t *Tensor, x []T) error { return m.Write(t.Offset, Bits(x)) }

// Download fills x from the start of t.
func Download[T Word](m Memory, t *Tensor, x []T) error { return m.Read(t.Offset, Bits(x)) }
