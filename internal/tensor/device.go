package tensor

import "context"

// Device runs programs.
type Device interface {
	// Name returns a description of the device for people.
	Name() string
	// Kernels returns a name for the implementation of the kernels. Devices whose implementations
	// have the same name return bitwise equal results.
	Kernels() string
	// Slots returns the number of programs that the device can run concurrently with full
	// efficiency.
	Slots() int
	// Allocate returns a block of zeroed device memory of the given number of words.
	Allocate(words int) (Memory, error)
	// Prepare compiles a program for the device. Several goroutines may run the executable
	// concurrently if each uses its own arena, inputs and gradients.
	Prepare(p *Program) (Executable, error)
	// Close frees the device and invalidates its memory and executables.
	Close() error
}

// Memory is a block of device memory, addressed in 4-byte words.
type Memory interface {
	Words() int
	Write(offset int, words []uint32) error
	Read(offset int, words []uint32) error
	Free()
}

// Binding holds the memory of a run, one block per region.
type Binding [Regions]Memory

// Executable is a program prepared for one device.
type Executable interface {
	// Run runs the segments [from, to) in order. It checks ctx at least between segments and returns
	// the context's error.
	Run(ctx context.Context, mem Binding, from, to int) error
	// Inspect runs like Run and calls visit after each launch, while the results of the launch are
	// still in the arena. An error from visit ends the run.
	Inspect(ctx context.Context, mem Binding, from, to int, visit func(k Kernel) error) error
}

type priorityKey struct{}

type priority int

const (
	patient priority = iota + 1
	urgent
)

// Urgent marks ctx for short runs whose results a user waits for. On a [Preemptive] device, urgent
// runs preempt other runs.
func Urgent(ctx context.Context) context.Context {
	return context.WithValue(ctx, priorityKey{}, urgent)
}

// IsUrgent reports whether ctx is from [Urgent].
func IsUrgent(ctx context.Context) bool { return ctx.Value(priorityKey{}) == urgent }

// Patient marks ctx for long background runs, which yield their threads often.
func Patient(ctx context.Context) context.Context {
	return context.WithValue(ctx, priorityKey{}, patient)
}

// IsPatient reports whether ctx is from [Patient].
func IsPatient(ctx context.Context) bool { return ctx.Value(priorityKey{}) == patient }

// Upload copies x to the start of t.
func Upload[T Word](m Memory, t *Tensor, x []T) error { return m.Write(t.Offset, Bits(x)) }

// Download fills x with the words at the start of t.
func Download[T Word](m Memory, t *Tensor, x []T) error { return m.Read(t.Offset, Bits(x)) }
