package vk

import (
	"fmt"
	"time"
)

// timeout bounds the wait for a submission: a driver that hangs must not hang
// the program for ever.
const timeout = 10 * time.Minute

// LostError ends a run: the device computes no more. What the host has stored is
// as good as before.
type LostError struct {
	Device string
	Silent bool // it has not answered in time; otherwise its driver has given it up
}

func (e *LostError) Error() string {
	if e.Silent {
		return fmt.Sprintf("the device %s was given up: it has not finished within %v (a kernel log, dmesg, may say why)", e.Device, timeout)
	}
	return fmt.Sprintf("the device %s was lost: its driver crashed or reset it (a kernel log, dmesg, may say why)",
		e.Device)
}

// MemoryError says that the device has no room.
type MemoryError struct {
	Device string
	Bytes  int64 // asked for, in one piece
	Free   int64 // what the driver says is left; 0 where it does not say
	Limit  int64 // what the device gives in one piece at most, where that is less than asked for; otherwise 0
}

func (e *MemoryError) Error() string {
	s := fmt.Sprintf("the device %s has no room for another %s", e.Device, mebibytes(e.Bytes))
	if e.Free > 0 {
		s += fmt.Sprintf(", %s are left", mebibytes(e.Free))
	}
	if e.Limit > 0 {
		s += fmt.Sprintf(", and it gives at most %s in one piece", mebibytes(e.Limit))
	}
	return s
}

func mebibytes(n int64) string { return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20)) }
