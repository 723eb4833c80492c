package sft

// Device is what models run on. Package device opens one: there are no others.
type Device interface {
	// Name describes the device to a person.
	Name() string
	// Kernels names what computes: the same bits are promised for one kind.
	Kernels() string
	// Slots is the number of passes that the device is best given at once.
	Slots() int
	// Close frees the device. What is on it, such as a [Scorer], is dead afterwards.
	Close() error
}
