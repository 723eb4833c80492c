// Package tensor is the interface between models and devices.
//
// A model does not compute. It records a [Program], a list of kernel launches over tensors, once
// per batch shape: a maximum number of tokens, sequences and other rows. A [Device] prepares the
// program and runs it for every batch of this shape. The forward and the backward pass of a kernel are
// in one file. A kernel is a struct that names its operands, documents the equation and the shapes,
// and checks the shapes.
//
// Gradient rule: a launch assigns a gradient (=). It adds to the gradient (+=) only if its Accumulate
// field is set or the gradient has the tag op:"add". Most kernels have no Accumulate field for
// parameters, because a parameter usually occurs once in a program. If a parameter of such a kernel
// occurs again, the second launch assigns its gradient to another tensor, and an [Add] sums the two.
//
// Mismatched shapes are a bug in the model and panic where the program is recorded. Errors at run
// time are returned.
package tensor
