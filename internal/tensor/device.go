package tensor

import "context"

// Device runs programs.
type Device interface {
	// Name describes the device to a person.
	Name() string
	// Kernels identifies the implementation: results are bitwise reproducible for the same value.
	Kernels() string
	// Slots returns the number of programs that the device can run efficiently at a time.
	Slots() int
	// Allocate returns zeroed memory of the device, in words.
	Allocate(words int) (Memory, error)
	// Prepare makes a program ready to run. Several goroutines may run it concurrently if each has
	// its own arena, inputs and gradients.
	Prepare(p *Program) (Executable, error)
	// Close frees the device. Memory and executables are invalid afterwards.
	Close() error
}

// Memory is a block of device memory, addressed in 4-byte words.
type Memory interface {
	Words() int
	Write(offset int, words []uint32) error
	Read(offset int, words []uint32) error
	Free()
}

// Binding has the memory of a run, one block per region.
type Binding [Regions]Memory

// Executable is a program prepared for one device.
type Executable interface {
	// Run runs the segments from, …, to−1 in order. It checks ctx at least between segments and
	// returns its error.
	Run(ctx context.Context, mem Binding, from, to int) error
	// Inspect runs like Run, and calls visit after each launch, while the results of the launch are
	// still in the arena. An error from visit ends the run.
	Inspect(ctx context.Context, mem Binding, from, to int, visit func(k Kernel) error) error
}

type priorityKey struct{}

type priority int

const (
	patient priority = iota + 1
	urgent
)

// Urgent marks ctx for short runs that somebody waits for: on a device with [Preemptive], they
// preempt other runs.
func Urgent(ctx context.Context) context.Context {
	return context.WithValue(ctx, priorityKey{}, urgent)
}

// IsUrgent reports whether ctx is from [Urgent].
func IsUrgent(ctx context.Context) bool { return ctx.Value(priorityKey{}) == urgent }

// Patient marks ctx for long runs in the background: such a run often yields its thread to others.
func Patient(ctx context.Context) context.Context {
	return context.WithValue(ctx, priorityKey{}, patient)
}

// IsPatient reports whether ctx is from [Patient].
func IsPatient(ctx context.Context) bool { return ctx.Value(priorityKey{}) == patient }

// Upload writes x to the start of t.
func Upload[T Word](m Memory, t *Tensor, x []T) error { return m.Write(t.Offset, Bits(x)) }

// Download fills x from the start of t.
func Download[T Word](m Memory, t *Tensor, x []T) error { return m.Read(t.Offset, Bits(x)) }
