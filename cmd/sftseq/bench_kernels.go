package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/sftseq/sftseq/device"
	"github.com/sftseq/sftseq/internal/bench"
)

func benchKernelsCommand() *cli.Command {
	return &cli.Command{
		Name:  "kernels",
		Usage: "measure each kernel that matters",
		UsageText: `sftseq bench kernels [--only NAME] [--threads N] [--json]

Example: sftseq bench kernels --only attention`,
		Description: `Runs each kernel alone on operands of the size that the paper's model of ListOps
has, for about 0.3 seconds, and prints the median time; on a device of Vulkan the
mean of what the device itself took, without the way there. Matrix products and
attention are counted in operations: a multiply with its add as two, and a maximum
with its add likewise. Other kernels are counted in bytes of their operands, read
and written. Both are compared with what the device can do in float32, measured in
the same run by loops that do nothing else: products in mixed precision, and
operands that stay in a GPU's caches, may come out above it.`,
		Flags:  benchFlags(&cli.StringFlag{Name: "only", Usage: "kernels with `NAME` in theirs"}),
		Action: benchKernels,
	}
}

// kernelResult is one measurement.
type kernelResult struct {
	bench.KernelResult
	Device    string           `json:"device"`
	Precision device.Precision `json:"precision"`
	Threads   int              `json:"threads"` // of the CPU
}

func benchKernels(c *cli.Context) error {
	d, release, err := openBenchDevice(c)
	if err != nil {
		return err
	}
	defer release()
	kernels := slices.DeleteFunc(bench.Kernels(), func(k bench.Kernel) bool { return !strings.Contains(k.Name, c.String("only")) })
	if len(kernels) == 0 {
		return usage(c, "--only %q: no such kernel", c.String("only"))
	}
	report := newResults(c, 2, "kernel", "size", "time", "rate", "of the ceiling")
	progress := newBenchProgress(c.App.ErrWriter, len(kernels)+1)
	var ceilings *bench.Ceilings
	if err := progress.measure("the ceilings", func() (err error) {
		if ceilings, err = bench.NewCeilings(d, benchThreads(c)); err == nil && ceilings != nil {
			err = ceilings.MeasureMemory()
		}
		if err != nil {
			return err
		}
		return report.note(map[string]any{"ceilings": ceilings, "threads": benchThreads(c), "device": d.Name(), "precision": precisionOf(d)})
	}); err != nil {
		return err
	}
	for _, k := range kernels {
		r := kernelResult{Device: d.Name(), Precision: precisionOf(d), Threads: benchThreads(c)}
		err := progress.measure(k.Name, func() (err error) {
			r.KernelResult, err = k.Measure(c.Context, d, ceilings)
			return err
		})
		if err != nil {
			return err
		}
		if err := report.add(r, r.Kernel, r.Size, duration(r.Seconds), kernelRate(r.KernelResult), percentOf(r.Ceiling)); err != nil {
			return err
		}
	}
	return report.finish(d.Name(), describeCeilings(ceilings, benchThreads(c)))
}

func percentOf(fraction float64) string {
	if fraction == 0 {
		return "–"
	}
	return fmt.Sprintf("%.0f%%", 100*fraction)
}

// describeCeilings is what the kernels are compared with.
func describeCeilings(c *bench.Ceilings, threads int) string {
	text := describeArithmetic(c)
	if c == nil {
		return text
	}
	for _, b := range c.Levels {
		if b.Bytes == 0 { // a device's own memory, whatever the size
			return text + fmt.Sprintf(", memory %s GB/s", significant(b.Copy/giga))
		}
		text += fmt.Sprintf("\n  %s a thread: read %s GB/s, copied %s GB/s", binaryBytes(int64(b.Bytes/threads)), significant(b.Read/giga), significant(b.Copy/giga))
	}
	return text
}

// describeArithmetic is the part of it that is no memory's.
func describeArithmetic(c *bench.Ceilings) string {
	if c == nil {
		return "The device has no way to tell its ceilings."
	}
	return fmt.Sprintf("ceilings in float32: multiply-add %s GFLOP/s, max-add %s GFLOP/s", significant(c.FMA/giga), significant(c.MaxAdd/giga))
}

const giga = 1e9

func kernelRate(r bench.KernelResult) string {
	if r.GFLOPS > 0 {
		return fmt.Sprintf("%s GFLOP/s", significant(r.GFLOPS))
	}
	return fmt.Sprintf("%s GB/s", significant(r.GBPS))
}
