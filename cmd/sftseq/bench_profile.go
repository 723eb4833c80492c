package main

import (
	"fmt"
	"strconv"

	"github.com/urfave/cli/v2"

	"sftseq/internal/tensor"
)

// kernelShare is what one kernel took of a profiled run.
type kernelShare struct {
	Kernel   string  `json:"kernel"` // a shader, or a way of clearing memory
	Launches int     `json:"launches"`
	Seconds  float64 `json:"seconds"`
	Share    float64 `json:"share"` // of the kernels' time together
}

// row is the kernel's in a table.
func (k *kernelShare) row() []string {
	return []string{k.Kernel, strconv.Itoa(k.Launches), duration(k.Seconds), fmt.Sprintf("%.1f%%", 100*k.Share)}
}

func kernelShares(times []tensor.KernelTime) []kernelShare {
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
	table := newReport(c, 1, "kernel", "launches", "time", "share")
	for _, k := range r.Kernels {
		total += k.Seconds
		if err := table.add(k, k.row()...); err != nil {
			return err
		}
	}
	return table.finish(fmt.Sprintf("%s in kernels, one at a time; %s a run", duration(total), duration(r.Seconds)))
}
