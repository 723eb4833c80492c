// Package cpu is the device that runs programs on the processor: one file per
// kernel, the forward beside its backward, under the base name of its wrapper
// in package tensor.
//
// Every sum has one order of additions, which depends on the shapes and lengths
// alone: work is cut into fixed pieces, each done by one worker, so the number
// of threads changes the time but not a bit of the result. Products are rounded
// before they are added (float32(a*b)), or the compiler could fuse them in one
// place and not in another.
package cpu
