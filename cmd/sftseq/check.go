package main

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/sftseq/sftseq/device"
	"github.com/sftseq/sftseq/internal/tensor"
	"github.com/sftseq/sftseq/internal/tensor/conformance"
)

func checkCommand() *cli.Command {
	return &cli.Command{
		Name:  "check",
		Usage: "check that a device computes every kernel correctly",
		UsageText: `sftseq check [--device vulkan] [--only NAME] [--json]
sftseq check --golden DIR [--device vulkan] [--precision mixed] [--only NAME] [--json]

Example: sftseq check --device vulkan`,
		Description: `Runs every kernel, forward and backward, on random operands of irregular sizes, compares the
results with a float64 reference, and prints the largest error as a percentage of the tolerance.
Kernels that fail are listed below the table, and the exit status is 1. --golden compares logits, gradients and losses
of whole models with float64 results. More: docs/architecture.md`,
		Flags: append(deviceFlags(device.FP32),
			&cli.StringFlag{Name: "golden", Usage: "check the models in `DIR`, in place of the kernels",
				TakesFile: true},
			&cli.StringFlag{Name: "only", Usage: "check kernels, or models, whose names contain `NAME`"},
			&cli.BoolFlag{Name: "json", Usage: "print one JSON object per kernel or model"},
		),
		Action: check,
	}
}

func check(c *cli.Context) error {
	if err := noArguments(c); err != nil {
		return usageError{err}
	}
	if c.IsSet("golden") {
		return checkGolden(c, c.String("golden"))
	}
	if p := device.Precision(c.String("precision")); p == device.Mixed || p == device.Fastest {
		return usage(c, "--precision %s: expected fp32, in which kernels are checked (--golden DIR checks whole "+
			"models in any precision)", p)
	}
	suites, cases := conformance.Select(c.String("only")), 0
	for _, s := range suites {
		cases += len(s.Cases)
	}
	if cases == 0 {
		return usage(c, "--only %q: no kernel has this text in its name: expected a part of %s", c.String("only"),
			strings.Join(conformance.Kernels(), ", "))
	}
	d, err := openDevice(c)
	if err != nil {
		return err
	}
	defer closeDevice(c, d)
	name, _, _ := strings.Cut(d.Name(), " ")
	progress := newProgress(int64(cases), "checking "+name, "cases")
	defer progress.Finish()
	failed, notes := 0, []string{describeSystem(d)}
	report := newResults(c, 1, "kernel", "cases", "error/tolerance", "result")
	for _, s := range suites {
		kernels, err := checkSuite(c.Context, s, d, progress)
		if err != nil {
			return err
		}
		for _, k := range kernels {
			failed += k.Failed
			notes = append(notes, k.Notes()...)
			if err := report.add(k, k.Kernel, fmt.Sprint(k.Cases), fmt.Sprintf("%.0f%%", 100*k.Worst),
				k.Verdict()); err != nil {
				return err
			}
		}
	}
	progress.Finish()
	if err := report.finish(strings.Join(notes, "\n")); err != nil {
		return err
	}
	if failed > 0 {
		return fmt.Errorf("%s: %d of %d cases failed", d.Name(), failed, cases)
	}
	return nil
}

// checkSuite runs a suite and returns a summary for each kernel.
func checkSuite(ctx context.Context, s conformance.Suite, d tensor.Device,
	progress *progress) (kernels []*conformance.Summary, err error) {
	err = s.Check(ctx, d, func(r conformance.Result) {
		i := slices.IndexFunc(kernels, func(k *conformance.Summary) bool { return k.Kernel == r.Kernel })
		if i < 0 {
			i = len(kernels)
			kernels = append(kernels, &conformance.Summary{Kernel: r.Kernel, Device: d.Name()})
		}
		kernels[i].Add(r)
		progress.Add(1)
	})
	return kernels, err
}

// describeSystem describes the device and the program version, for bug reports.
func describeSystem(d tensor.Device) string {
	return fmt.Sprintf("%s\nsftseq %s, %s, %s/%s", d.Name(), version(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
}
