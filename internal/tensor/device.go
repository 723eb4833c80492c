package tensor

import "context"

// Device runs programs.
type Device interface {
	// Name describes the device to a person.
	Name() string
	// Kernels names what computes: bits are promised for one kind.
	Kernels() string
	// Slots is the number of programs that the device is best given at once.
	Slots() int
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

// Binding gives a run its memory, one block a region.
type Binding [Regions]Memory

// Executable is a program made ready for one device.
type Executable interface {
	// Run runs the segments from, …, to−1 in order. It looks at ctx at least between
	// segments and returns its error.
	Run(ctx context.Context, mem Binding, from, to int) error
	// Inspect runs like Run, and calls visit after each launch, while what the
	// launch wrote is still in the arena. An error from visit ends the run.
	Inspect(ctx context.Context, mem Binding, from, to int, visit func(k Kernel) error) error
}

type priorityKey struct{}

type priority int

const (
	patient priority = iota + 1
	urgent
)

// Urgent is ctx for short runs that somebody waits for: on a device with [Preemptive],
// others give way to them.
func Urgent(ctx context.Context) context.Context {
	return context.WithValue(ctx, priorityKey{}, urgent)
}

// IsUrgent reports whether a context is one of [Urgent].
func IsUrgent(ctx context.Context) bool { return ctx.Value(priorityKey{}) == urgent }

// Patient is ctx for long runs beside which a program does much else: such a run lets
// other threads on its processor often.
func Patient(ctx context.Context) context.Context {
	return context.WithValue(ctx, priorityKey{}, patient)
}

// IsPatient reports whether a context is one of [Patient].
func IsPatient(ctx context.Context) bool { return ctx.Value(priorityKey{}) == patient }

// Upload writes x to the start of t.
func Upload[T Word](m Memory, t *Tensor, x []T) error { return m.Write(t.Offset, Bits(x)) }

// Download fills x from the start of t.
func Download[T Word](m Memory, t *Tensor, x []T) error { return m.Read(t.Offset, Bits(x)) }
