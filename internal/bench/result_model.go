package bench

import (
	"fmt"
	"strconv"

	"github.com/sftseq/sftseq/device"
	"github.com/sftseq/sftseq/internal/tensor"
)

// ModelResult is a [Measurement] with its settings and the derived rates, as sftseq bench model prints it.
type ModelResult struct {
	What         string           `json:"what"`
	Config       string           `json:"config"`
	Length       int              `json:"length"`
	Batch        int              `json:"batch"`
	K            int              `json:"k"`
	EdgesPerNode int              `json:"edges_per_node,omitempty"` // average, only for graphs
	Threads      int              `json:"threads"`                  // CPU threads
	Device       string           `json:"device"`
	Precision    device.Precision `json:"precision"`
	Seconds      float64          `json:"seconds"`
	TokensPerSec float64          `json:"tokens_per_s"`
	Operations   float64          `json:"operations_per_token"`
	Ceiling      float64          `json:"ceiling_fraction,omitempty"` // fraction of the multiply-add peak rate
	PeakBytes    int64            `json:"peak_bytes,omitempty"`
	Kernels      []KernelShare    `json:"kernels,omitempty"` // shares of kernels in a further run, with --profile
}

// KernelShare is the time of one kernel in a profiled run.
type KernelShare struct {
	Kernel   string  `json:"kernel"` // on a GPU the name of a shader or of a memory clear
	Launches int     `json:"launches"`
	Seconds  float64 `json:"seconds"`
	Share    float64 `json:"share"` // fraction of the kernels' total time
	// GFLOPS and Ceiling, the fraction of the peak rate, are 0 if the kernel's operations are not counted.
	// Ceiling is also 0 if the peak rate is unknown.
	GFLOPS  float64 `json:"gflop_per_s,omitempty"`
	Ceiling float64 `json:"ceiling_fraction,omitempty"`
}

// Row returns the kernel's row in a table.
func (k *KernelShare) Row() []string {
	rate := "–"
	if k.GFLOPS > 0 {
		rate = FormatDigits(k.GFLOPS) + " GFLOP/s"
	}
	return []string{k.Kernel, strconv.Itoa(k.Launches), FormatSeconds(k.Seconds), fmt.Sprintf("%.1f%%", 100*k.Share),
		rate, FormatPercent(k.Ceiling)}
}

// ProfileColumns are the column headings for the rows of [KernelShare].
var ProfileColumns = []string{"kernel", "launches", "time", "share", "rate", "of peak"}

// KernelShares returns the kernels of a profile with their shares, and compares their rates with
// the device's peak rates if they are known.
func KernelShares(times []tensor.KernelTime, operations *Operations, ceilings *Ceilings) []KernelShare {
	total := 0.0
	for _, t := range times {
		total += t.Seconds
	}
	var out []KernelShare
	for _, t := range times {
		s := KernelShare{Kernel: t.Name, Launches: t.Launches, Seconds: t.Seconds}
		if total > 0 {
			s.Share = t.Seconds / total
		}
		if n, fraction := operations.Of(t.Name, t.Seconds, ceilings); n > 0 && t.Seconds > 0 {
			s.GFLOPS, s.Ceiling = n/t.Seconds/giga, fraction
		}
		out = append(out, s)
	}
	return out
}
