package main

import (
	"fmt"
	"strconv"

	"github.com/urfave/cli/v2"

	"github.com/sftseq/sftseq/internal/bench"
	"github.com/sftseq/sftseq/internal/tensor"
)

// kernelShare is what one kernel took of a profiled run.
type kernelShare struct {
	Kernel   string  `json:"kernel"` // of a GPU a shader, or a way of clearing memory
	Launches int     `json:"launches"`
	Seconds  float64 `json:"seconds"`
	Share    float64 `json:"share"` // of the kernels' time together
	// Of kernels that are arithmetic above all.
	GFLOPS  float64 `json:"gflop_per_s,omitempty"`
	Ceiling float64 `json:"ceiling_fraction,omitempty"`
}

// row is the kernel's in a table.
func (k *kernelShare) row() []string {
	rate := "–"
	if k.GFLOPS > 0 {
		rate = significant(k.GFLOPS) + " GFLOP/s"
	}
	return []string{k.Kernel, strconv.Itoa(k.Launches), duration(k.Seconds), fmt.Sprintf("%.1f%%", 100*k.Share), rate, percentOf(k.Ceiling)}
}

// profileColumns head those rows.
var profileColumns = []string{"kernel", "launches", "time", "share", "rate", "of the ceiling"}

func kernelShares(times []tensor.KernelTime, operations *bench.Operations, ceilings *bench.Ceilings) []kernelShare {
	total := 0.0
	for _, t := range times {
		total += t.Seconds
	}
	var out []kernelShare
	for _, t := range times {
		s := kernelShare{Kernel: t.Name, Launches: t.Launches, Seconds: t.Seconds}
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

// printKernels prints the table of a profile, if there is one. In JSON it is part
// of the measurement.
func (r *modelResult) printKernels(c *cli.Context) error {
	if c.Bool("json") || r.Kernels == nil {
		return nil
	}
	if _, err := fmt.Fprintf(c.App.Writer, "\n%s at length %d, batch %d:\n", r.What, r.Length, r.Batch); err != nil {
		return err
	}
	total := 0.0
	table := newResults(c, 1, profileColumns...)
	for _, k := range r.Kernels {
		total += k.Seconds
		if err := table.add(k, k.row()...); err != nil {
			return err
		}
	}
	return table.finish(fmt.Sprintf("%s in kernels; %s a run", duration(total), duration(r.Seconds)))
}
