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
		Usage: "measure each kernel",
		UsageText: `sftseq bench kernels [--only NAME] [--threads N] [--json]

Example: sftseq bench kernels --only attention`,
		Description: `Runs each kernel for about 0.3 seconds on operands of the paper's ListOps model, and prints its
median time (on a GPU its mean time by the device's timestamps), its rate, and the fraction of the
peak rate, which is measured by loops that only compute or only copy. More: docs/performance.md`,
		Flags:  benchFlags(&cli.StringFlag{Name: "only", Usage: "measure kernels whose names contain `NAME`"}),
		Action: benchKernels,
	}
}

func benchKernels(c *cli.Context) error {
	var names []string
	kernels := slices.DeleteFunc(bench.Kernels(), func(k bench.Kernel) bool {
		if !slices.Contains(names, k.Name) {
			names = append(names, k.Name)
		}
		return !strings.Contains(k.Name, c.String("only"))
	})
	if len(kernels) == 0 {
		return usage(c, "--only %q: no kernel has this text in its name: expected a part of %s", c.String("only"),
			strings.Join(names, ", "))
	}
	d, release, err := openBenchDevice(c)
	if err != nil {
		return err
	}
	defer release()
	report := newResults(c, 2, "kernel", "size", "time", "rate", "of peak")
	progress := newBenchProgress(c.App.ErrWriter, len(kernels)+1)
	var ceilings *bench.Ceilings
	if err := progress.measure("peak rates", func() (err error) {
		if ceilings, err = bench.NewCeilings(d, benchThreads(c)); err == nil && ceilings != nil {
			err = ceilings.MeasureMemory()
		}
		if err != nil {
			return err
		}
		return report.writeJSON(map[string]any{"ceilings": ceilings, "threads": benchThreads(c), "device": d.Name(),
			"precision": precisionOf(d)})
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
