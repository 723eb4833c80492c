package main

import (
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

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
		r := bench.KernelMeasurement{Device: d.Name(), Precision: precisionOf(d), Threads: benchThreads(c)}
		err := progress.measure(k.Name, func() (err error) {
			r.KernelResult, err = k.Measure(c.Context, d, ceilings)
			return err
		})
		if err != nil {
			return err
		}
		if err := report.add(r, r.Row()...); err != nil {
			return err
		}
	}
	return report.finish(d.Name(), bench.DescribeCeilings(ceilings, benchThreads(c)))
}
