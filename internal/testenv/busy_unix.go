//go:build unix

package testenv

import (
	"syscall"
	"time"
)

// busyTime is the time that processors have worked for the program so far.
func busyTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
