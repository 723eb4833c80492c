package main

import (
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/sftseq/sftseq/device"
	"github.com/sftseq/sftseq/internal/bench"
	"github.com/sftseq/sftseq/internal/tensor"
)

func devicesCommand() *cli.Command {
	return &cli.Command{
		Name:  "devices",
		Usage: "list the devices that models can run on, and how fast they are",
		UsageText: `sftseq devices [--quick] [--json]

Example: sftseq devices`,
		Description: `Lists what --device takes: the devices that Vulkan offers, the best first, and
the CPU. Each device of Vulkan is measured for a moment: the bytes that it copies
within its memory, read and written ones together; a loop of multiplications with
additions in float32, as two operations each, which is the most that fp32 can reach;
and a product of two 2048×2048 matrices as --precision mixed computes it, which
needs cooperative matrices: those that a subgroup, which computes in step, multiplies
as a whole.`,
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "quick", Usage: "measure nothing"},
			&cli.BoolFlag{Name: "json", Usage: "print one JSON object a line"},
		},
		Action: devices,
	}
}

// deviceLine is the JSON of a device.
type deviceLine struct {
	device.Info
	Copy    float64 `json:"copy_bytes_per_s,omitempty"`
	FMA     float64 `json:"fma_flop_per_s,omitempty"`           // in float32
	Product float64 `json:"mixed_product_flop_per_s,omitempty"` // on cooperative matrices
	Failure string  `json:"error,omitempty"`                    // why it was not measured
}

func devices(c *cli.Context) error {
	if err := noArguments(c); err != nil {
		return usageError{err}
	}
	list, unavailable := device.List()
	report := newResults(c, 5, "device", "name", "kind", "driver", "API", "memory", "subgroup", "copy", "float32 multiply-add", "mixed product")
	progress := newBenchProgress(c.App.ErrWriter, len(list))
	var notes []string
	for _, i := range list {
		line := deviceLine{Info: i}
		err := progress.measure(i.Device, func() error {
			if !c.Bool("quick") && i.Missing == "" {
				if err := line.measure(c); err != nil {
					line.Failure = err.Error()
				}
			}
			return c.Context.Err()
		})
		if err != nil {
			return err
		}
		if err := report.add(line, line.row()...); err != nil {
			return err
		}
		if note := line.note(); note != "" {
			notes = append(notes, note)
		}
	}
	if unavailable != nil {
		notes = append(notes, unavailable.Error())
		if err := report.note(map[string]string{"unavailable": unavailable.Error()}); err != nil {
			return err
		}
	}
	return report.finish(strings.Join(notes, "\n"))
}

func (l *deviceLine) measure(c *cli.Context) error {
	err := l.with(c, device.FP32, func(d tensor.Device) (err error) {
		if m, ok := tensor.Capability[tensor.Measurer](d); ok {
			if l.Copy, err = m.MeasureCopy(); err == nil {
				l.FMA, err = m.MeasureProducts()
			}
		}
		return err
	})
	if err != nil || !l.Mixed {
		return err
	}
	return l.with(c, device.Mixed, func(d tensor.Device) (err error) {
		l.Product, err = bench.ProductRate(c.Context, d)
		return err
	})
}

// with opens the device for a measurement.
func (l *deviceLine) with(c *cli.Context, p device.Precision, measure func(tensor.Device) error) error {
	d, err := opened(device.Options{Name: l.Device, Precision: p})
	if err != nil {
		return err
	}
	defer closeDevice(c, d)
	return measure(d)
}

// row is the device's in the table.
func (l *deviceLine) row() []string {
	const none = "–"
	row := []string{l.Device, l.Name, l.Kind, l.Driver, l.API, none, none, none, none, none}
	for i, cell := range row {
		if cell == "" {
			row[i] = none
		}
	}
	if l.Memory > 0 {
		row[5] = binaryBytes(l.Memory)
	}
	if l.SubgroupSize > 0 {
		if row[6] = fmt.Sprint(l.SubgroupSize); l.SubgroupMin != l.SubgroupMax {
			row[6] += fmt.Sprintf(" (%d to %d)", l.SubgroupMin, l.SubgroupMax)
		}
	}
	if l.Copy > 0 {
		row[7] = significant(l.Copy/giga) + " GB/s"
	}
	if l.FMA > 0 {
		row[8] = significant(l.FMA/giga) + " GFLOP/s"
	}
	if l.Product > 0 {
		row[9] = significant(l.Product/giga) + " GFLOP/s"
	}
	return row
}

// note is what does not fit into the row.
func (l *deviceLine) note() string {
	switch {
	case l.Missing != "":
		return fmt.Sprintf("%s cannot be used: %s", l.Device, l.Missing)
	case l.Failure != "":
		return fmt.Sprintf("%s was not measured: %s", l.Device, l.Failure)
	case l.Device == "cpu":
		return ""
	case len(l.Cooperative) == 0:
		return fmt.Sprintf("%s has no cooperative matrices", l.Device)
	}
	var shapes []string
	for _, s := range l.Cooperative {
		shapes = append(shapes, s.String())
	}
	return fmt.Sprintf("%s has cooperative matrices: %s", l.Device, strings.Join(shapes, ", "))
}
