// Package tensor is the interface between models and devices.
//
// A model does not compute. It records a [Program], a list of kernel launches over tensors, once
// per batch shape. A [Device] prepares the program and runs it for every batch of this shape. There
// is one file per kernel, with the forward and its backward: a struct that names the operands,
// states the equation and the shapes, and checks them.
//
// Gradient rule: a launch assigns a gradient (=) unless its Accumulate field says +=. Most kernels
// have no such field for parameters, which usually occur once in a program. If a parameter occurs
// again, the launch assigns a term that an [Add] adds.
//
// Mismatched shapes in a model are a bug of the caller and panic where the program is recorded.
// Errors at run time are returned.
package tensor
