//go:build !unix

package testenv

import "time"

var started = time.Now()

// CPUTime returns the time since the program started, because the CPU time is unknown on this
// operating system.
func CPUTime() time.Duration { return time.Since(started) }
