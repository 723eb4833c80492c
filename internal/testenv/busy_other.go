//go:build !unix

package testenv

import "time"

var started = time.Now()

// busyTime returns the time since the program started, as the CPU time is unknown.
func busyTime() time.Duration { return time.Since(started) }
