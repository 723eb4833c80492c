//go:build !linux

package fair

import "time"

var loaded = time.Now()

// threadTime is the time that has passed, as that of a thread is not known.
func threadTime() time.Duration { return time.Since(loaded) }
