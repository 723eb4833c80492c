package vk

import (
	"fmt"
	"strings"
	"time"
)

// timeout limits the wait for a submission, so that a hanging driver does not hang the program.
const timeout = 10 * time.Minute

// LostError means that the device no longer computes. The run has failed, but data in files and in
// host memory are still valid.
type LostError struct {
	Device string
	Silent bool // true if a submission timed out, false if the driver reported the device as lost
}

func (e *LostError) Error() string {
	if e.Silent {
		return fmt.Sprintf("the device %s did not finish within %v (see the kernel log, dmesg, for the reason)",
			e.Device, timeout)
	}
	return fmt.Sprintf("the device %s was lost: its driver crashed or reset it (see the kernel log, dmesg, for the reason)",
		e.Device)
}

// MemoryError means that an allocation exceeds the free memory or the limit of the device.
type MemoryError struct {
	Device string
	Bytes  int64 // size of the allocation
	Free   int64 // free bytes, estimated if the driver does not report them; 0 if unknown
	Limit  int64 // maximum size of an allocation if Bytes exceeds it, otherwise 0
}

func (e *MemoryError) Error() string {
	var limits []string
	if e.Free > 0 {
		limits = append(limits, fmt.Sprintf("%s are free", mebibytes(e.Free)))
	}
	if e.Limit > 0 {
		limits = append(limits, fmt.Sprintf("an allocation is limited to %s", mebibytes(e.Limit)))
	}
	s := fmt.Sprintf("the device %s cannot allocate %s", e.Device, mebibytes(e.Bytes))
	if limits != nil {
		s += ": " + strings.Join(limits, ", and ")
	}
	return s
}

func mebibytes(n int64) string { return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20)) }
