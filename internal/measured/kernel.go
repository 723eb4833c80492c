package measured

import (
	"fmt"

	"github.com/sftseq/sftseq/device"
	"github.com/sftseq/sftseq/internal/bench"
	"github.com/sftseq/sftseq/internal/units"
)

// Kernel is a measurement of one kernel.
type Kernel struct {
	bench.KernelResult
	Device    string           `json:"device"`
	Precision device.Precision `json:"precision"`
	Threads   int              `json:"threads"` // of the CPU
}

// Row is the kernel's in a table.
func (k *Kernel) Row() []string {
	rate := units.Digits(k.GBPS) + " GB/s"
	if k.GFLOPS > 0 {
		rate = units.Digits(k.GFLOPS) + " GFLOP/s"
	}
	return []string{k.Kernel, k.Size, units.Seconds(k.Seconds), rate, units.Percent(k.Ceiling)}
}

// DescribeCeilings is what the kernels are compared with.
func DescribeCeilings(c *bench.Ceilings, threads int) string {
	text := DescribeArithmetic(c)
	if c == nil {
		return text
	}
	for _, b := range c.Levels {
		if b.Bytes == 0 { // a device's own memory, whatever the size
			return text + fmt.Sprintf(", memory %s GB/s", units.Digits(b.Copy/giga))
		}
		text += fmt.Sprintf("\n  %s a thread: read %s GB/s, copied %s GB/s", units.Bytes(int64(b.Bytes/threads)), units.Digits(b.Read/giga), units.Digits(b.Copy/giga))
	}
	return text
}

// DescribeArithmetic is the part of it that is no memory's.
func DescribeArithmetic(c *bench.Ceilings) string {
	if c == nil {
		return "The device has no way to tell its ceilings."
	}
	return fmt.Sprintf("ceilings in float32: multiply-add %s GFLOP/s, max-add %s GFLOP/s", units.Digits(c.FMA/giga), units.Digits(c.MaxAdd/giga))
}

const giga = 1e9
