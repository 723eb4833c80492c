//go:build !linux

package fair

import "time"

var processStart = time.Now()

// threadTime returns the elapsed time. The CPU time of a thread is measured only on Linux.
func threadTime() time.Duration { return time.Since(processStart) }
