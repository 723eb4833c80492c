package config

import (
	"fmt"
)

// MemoryError reports a sequence or batch that exceeds the memory limit, or that the device cannot
// compute.
type MemoryError struct {
	Limit, Need int64 // bytes
	Longest     int   // tokens of the longest sequence
	Fits        int   // maximum length that fits, in tokens; 0 if no length fits or the length is unknown
	Reason      error // error of the device; nil if Need exceeds Limit
}

func (e *MemoryError) Unwrap() error { return e.Reason }

func (e *MemoryError) Error() string {
	s := fmt.Sprintf("%s of memory allowed, but a batch with sequences of up to %d tokens needs %s",
		mebibytes(e.Limit), e.Longest, mebibytes(e.Need))
	if e.Reason != nil {
		s = fmt.Sprintf("sequences of up to %d tokens are too long: %v", e.Longest, e.Reason)
	}
	if e.Fits > 0 {
		s += fmt.Sprintf("; up to %d tokens would fit", e.Fits)
	}
	return s
}

// mebibytes formats a size in MiB, rounded up. It formats less than 1 MiB in bytes.
func mebibytes(n int64) string {
	if n < 1<<20 {
		return fmt.Sprintf("%d B", n)
	}
	return fmt.Sprintf("%d MiB", (n+1<<20-1)>>20)
}
