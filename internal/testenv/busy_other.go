//go:build !unix

package testenv

import "time"

var started = time.Now()

// cpuTime returns the time since the program started instead of its CPU time, which is unknown
// here.
func cpuTime() time.Duration { return time.Since(started) }
