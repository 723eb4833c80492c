// Package device opens the devices that models run on.
package device

import (
	"fmt"
	"strings"

	"sftseq/internal/cpu"
	"sftseq/internal/simd"
	"sftseq/internal/tensor"
)

// Names lists what [Open] accepts.
func Names() []string { return []string{"auto", "cpu"} }

// Open opens a device by name; "auto" takes the best that the machine has.
// Threads bounds the processor threads that it uses; 0 takes all.
func Open(name string, threads int) (tensor.Device, error) {
	if threads < 0 {
		return nil, fmt.Errorf("%d threads, expected 0 (all) or more", threads)
	}
	switch name {
	case "auto", "cpu":
		level, err := simd.Best()
		if err != nil {
			return nil, err
		}
		return cpu.NewLevel(threads, level), nil
	}
	return nil, fmt.Errorf("unknown device %q, expected one of: %s", name, strings.Join(Names(), ", "))
}
