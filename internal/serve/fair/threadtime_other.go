//go:build !linux

package fair

import "time"

var processStart = time.Now()

// threadTime returns the elapsed time, because this system has no CPU time of threads.
func threadTime() time.Duration { return time.Since(processStart) }
