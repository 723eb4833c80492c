// Package tensor is what a model and a device agree on.
//
// A model does not compute: it emits a [Program], a list of kernel launches
// over tensors, once per batch shape. A [Device] prepares the program and runs
// it as often as there are batches of that shape. There is one file per kernel
// here, the forward beside its backward: a struct that names the operands,
// states the equation and the shapes, and checks them.
//
// Gradient rule: a launch assigns a gradient (=) unless its Accumulate field says
// +=. Most have none for parameters, which are used once in a program as a rule:
// where one is used again, the launch assigns a term that an [Add] adds.
//
// A mistake in the shapes of a model is a bug of the caller and panics where
// the program is emitted. Whatever can fail at run time returns an error.
package tensor
