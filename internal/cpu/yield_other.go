//go:build !linux

package cpu

// yieldThread does nothing: the system's scheduler switches between threads.
func yieldThread() {}
