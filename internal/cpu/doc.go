// Package cpu is the device that runs programs on the CPU. There is one file per kernel, with the
// forward and its backward, under the base name of its wrapper in package tensor.
//
// Every sum has a fixed order of additions, which depends only on shapes and lengths: work is split
// into fixed pieces, each done by one worker, so the number of threads changes the time but not a
// bit of the result. Products are rounded before they are added (float32(a*b)), as the compiler
// could otherwise fuse them in one place and not in another.
package cpu
