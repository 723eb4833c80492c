//go:build !linux

package cpu

// yieldThread does nothing: the system shares its processors out.
func yieldThread() {}
