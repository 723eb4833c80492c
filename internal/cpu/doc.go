// Package cpu implements the device that runs programs on the CPU. The forward and backward pass of
// a kernel are in the file with the same name as the kernel's file in package tensor. Only attention
// has several files.
//
// Every sum has a fixed order of additions, which depends only on shapes, lengths and the instruction
// set, so that the number of threads never changes a bit of the result. Work is split into pieces, each
// done by one worker. Go code rounds products before it adds them (float32(a*b)); otherwise the compiler
// could fuse multiplication and addition in some places only.
package cpu
