package sft

// Device runs models. Package device opens devices; other implementations are refused.
type Device interface {
	// Name returns a description for users.
	Name() string
	// Kernels returns the name of the instruction set or of the device's kernels. Results are
	// bit-identical for equal names.
	Kernels() string
	// Slots returns the best number of concurrent passes.
	Slots() int
	// Close frees the device. Its users, such as a [Scorer], must not be used afterwards.
	Close() error
}
