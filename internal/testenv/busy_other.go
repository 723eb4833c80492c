//go:build !unix

package testenv

import "time"

var started = time.Now()

// CPUTime returns the time since the program started instead of its CPU time, which is unknown
// here.
func CPUTime() time.Duration { return time.Since(started) }
