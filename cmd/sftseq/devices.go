package main

import (
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/sftseq/sftseq/device"
	"github.com/sftseq/sftseq/internal/bench"
	"github.com/sftseq/sftseq/internal/tensor"
)

func devicesCommand() *cli.Command {
	return &cli.Command{
		Name:  "devices",
		Usage: "list devices and measure their speed",
		UsageText: `sftseq devices [--quick] [--json]

Example: sftseq devices`,
		Description: `Lists the values of --device: Vulkan's devices, the best first, and the CPU. Measures on each
Vulkan device the rates of a copy within its memory, of float32 multiply-adds (two operations each), and
of a product of 2048×2048 matrices in mixed precision, which needs cooperative matrices.`,
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "quick", Usage: "list the devices without measuring them"},
			&cli.BoolFlag{Name: "json", Usage: "print one JSON object per line"},
		},
		Action: devices,
	}
}

func devices(c *cli.Context) error {
	if err := noArguments(c); err != nil {
		return usageError{err}
	}
	list, unavailable := device.List()
	report := newResults(c, 5, "device", "name", "kind", "driver", "API", "memory", "subgroup", "copy",
		"float32 multiply-add", "mixed product")
	progress := newBenchProgress(c.App.ErrWriter, len(list))
	var notes []string
	for _, info := range list {
		result := bench.DeviceResult{Info: info}
		err := progress.measure(info.Device, func() error {
			if !c.Bool("quick") && info.Missing == "" {
				if err := measureDevice(c, &result); err != nil {
					result.Failure = err.Error()
				}
			}
			return c.Context.Err()
		})
		if err != nil {
			return err
		}
		if err := report.add(result, result.Row()...); err != nil {
			return err
		}
		if note := result.Note(); note != "" {
			notes = append(notes, note)
		}
	}
	if unavailable != nil {
		notes = append(notes, unavailable.Error())
		if err := report.writeJSON(map[string]string{"unavailable": unavailable.Error()}); err != nil {
			return err
		}
	}
	return report.finish(strings.Join(notes, "\n"))
}

func measureDevice(c *cli.Context, result *bench.DeviceResult) error {
	err := withDevice(c, result.Device, device.FP32, func(d tensor.Device) (err error) {
		if m, ok := tensor.Capability[tensor.Measurer](d); ok {
			if result.Copy, err = m.MeasureCopy(); err == nil {
				result.FMA, err = m.MeasureProducts()
			}
		}
		return err
	})
	if err != nil || !result.Mixed {
		return err
	}
	return withDevice(c, result.Device, device.Mixed, func(d tensor.Device) (err error) {
		result.Product, err = bench.ProductRate(c.Context, d)
		return err
	})
}

// withDevice opens a device, calls measure and closes the device.
func withDevice(c *cli.Context, name string, p device.Precision, measure func(tensor.Device) error) error {
	d, err := openTensorDevice(device.Options{Name: name, Precision: p})
	if err != nil {
		return err
	}
	defer closeDevice(c, d)
	return measure(d)
}
