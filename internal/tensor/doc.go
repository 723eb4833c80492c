// Package tensor is the interface between models and devices.
//
// A model does not compute. It records a [Program], a list of kernel launches over tensors, once
// per batch shape. A [Device] prepares the program and runs it for every batch of this shape. Each
// kernel has a file for its forward and backward pass. A kernel is a struct that names its operands,
// documents the equation and the shapes, and checks the shapes.
//
// Gradient rule: a launch assigns a gradient (=) unless its Accumulate field is set or the tag
// op:"add" says +=. Most kernels have no Accumulate field for parameters, because a parameter
// usually occurs once in a program. If a parameter occurs again, the second launch assigns its
// gradient to another tensor, and an [Add] sums the two.
//
// Mismatched shapes are a bug in the model and panic where the program is recorded. Errors at run
// time are returned.
package tensor
