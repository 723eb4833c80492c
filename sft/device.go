package sft

// Device is what models run on. Package device opens one: there are no others.
type Device interface {
	// Name describes the device to a person.
	Name() string
	// Kernels names the instruction set or the device's kernels: results are bit-identical for equal names.
	Kernels() string
	// Slots is the best number of concurrent passes.
	Slots() int
	// Close frees the device. What is on it, such as a [Scorer], is dead afterwards.
	Close() error
}
