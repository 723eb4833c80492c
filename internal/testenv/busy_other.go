//go:build !unix

package testenv

import "time"

var started = time.Now()

// busyTime returns the time since the program started instead of its CPU time, which is unknown
// here.
func busyTime() time.Duration { return time.Since(started) }
