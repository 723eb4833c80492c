//go:build cgo

package vk

import (
	"fmt"

	vulkan "github.com/vulkan-go/vulkan"
)

// LostError ends a run: the driver has given the device up, after a crash, a
// reset or a launch that took too long.
type LostError struct{ Device string }

func (e *LostError) Error() string {
	return fmt.Sprintf("the device %s was lost: its driver crashed or reset it (a kernel log, dmesg, may say why)", e.Device)
}

// MemoryError says that the device has no room.
type MemoryError struct {
	Device string
	Bytes  int64 // asked for
	Free   int64 // what the driver says is left; 0 where it does not say
}

func (e *MemoryError) Error() string {
	s := fmt.Sprintf("the device %s has no room for another %s", e.Device, mebibytes(e.Bytes))
	if e.Free > 0 {
		s += fmt.Sprintf(", %s are left", mebibytes(e.Free))
	}
	return s
}

func mebibytes(n int64) string { return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20)) }

// resultError names a VkResult.
func resultError(r int32) error {
	if err := vulkan.Error(vulkan.Result(r)); err != nil {
		return fmt.Errorf("%w (VkResult %d)", err, r)
	}
	return nil
}
