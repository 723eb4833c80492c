//go:build cgo

package vk

import (
	"testing"

	"sftseq/internal/tensor/conformance"
)

// small makes the device one with small limits: operands of 64 KiB at most where
// kernels go by blocks of rows, 7 workgroups in a line, and the coarsest alignment.
func small(t *testing.T, d *Device) {
	before, words, hidden := d.limits, blockWords, hiddenWords
	t.Cleanup(func() { d.limits, blockWords, hiddenWords = before, words, hidden })
	blockWords, hiddenWords = 1, 1 // blocks of 128 rows, the least
	d.limits.maxGroups = [2]int{7, 1 << 20}
	d.limits.alignment = grain
}

func TestZZ(t *testing.T) {
	d := open(t)
	small(t, d)
	conformance.Run(t, d)
}
