package bench

import (
	"fmt"

	"github.com/sftseq/sftseq/device"
)

// KernelMeasurement is a [KernelResult] with the device, the precision and the CPU threads of the measurement.
type KernelMeasurement struct {
	KernelResult
	Device    string           `json:"device"`
	Precision device.Precision `json:"precision"`
	Threads   int              `json:"threads"` // CPU threads
}

// Row returns the kernel's row in a table.
func (k *KernelMeasurement) Row() []string {
	rate := FormatDigits(k.GBPS) + " GB/s"
	if k.GFLOPS > 0 {
		rate = FormatDigits(k.GFLOPS) + " GFLOP/s"
	}
	return []string{k.Kernel, k.Size, FormatSeconds(k.Seconds), rate, FormatPercent(k.Ceiling)}
}

// DescribeCeilings returns a description of the device's peak rates for the table of kernels.
func DescribeCeilings(c *Ceilings, threads int) string {
	text := DescribeArithmetic(c)
	if c == nil {
		return text
	}
	for _, b := range c.Levels {
		if b.Bytes == 0 { // a single bandwidth for any size, of a device's own memory
			return text + fmt.Sprintf(", memory %s GB/s", FormatDigits(b.Copy/giga))
		}
		text += fmt.Sprintf("\n  %s a thread: read %s GB/s, copied %s GB/s", FormatBytes(int64(b.Bytes/threads)),
			FormatDigits(b.Read/giga), FormatDigits(b.Copy/giga))
	}
	return text
}

// DescribeArithmetic returns a description of the device's peak arithmetic rates.
func DescribeArithmetic(c *Ceilings) string {
	if c == nil {
		return "The device cannot measure its peak rates."
	}
	return fmt.Sprintf("peak rates in float32: multiply-add %s GFLOP/s, max-add %s GFLOP/s", FormatDigits(c.FMA/giga),
		FormatDigits(c.MaxAdd/giga))
}

const giga = 1e9
