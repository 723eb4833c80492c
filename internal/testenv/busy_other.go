//go:build !unix

package testenv

import "time"

var started = time.Now()

// busyTime is the time since the program has started, where no other is known.
func busyTime() time.Duration { return time.Since(started) }
