package main

import (
	"cmp"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/urfave/cli/v2"

	"github.com/sftseq/sftseq/device"
	"github.com/sftseq/sftseq/internal/tensor"
)

// deviceVariable is the environment variable that sets the default of --device.
const deviceVariable = "SFTSEQ_DEVICE"

func deviceFlag() cli.Flag {
	return &cli.StringFlag{Name: "device", Value: "auto", EnvVars: []string{deviceVariable}, Category: deviceGroup,
		Usage: "run on `NAME`: auto, cpu, vulkan, vulkan:N"}
}

// deviceFlags returns the flags for the device, its precision and the number of CPU threads.
func deviceFlags(precision device.Precision) []cli.Flag {
	return []cli.Flag{
		deviceFlag(),
		&cli.StringFlag{Name: "precision", Value: string(precision), Category: deviceGroup,
			Usage: "multiply matrices in `KIND`: fp32, mixed (16-bit operands) or auto"},
		&cli.IntFlag{Name: "threads", Category: deviceGroup, Usage: "compute with `N` CPU threads", DefaultText: "all"},
	}
}

// usableCores is the number of cores that this program may use.
var usableCores = runtime.GOMAXPROCS(0)

func deviceOptions(c *cli.Context) device.Options {
	o := device.Options{Name: c.String("device"), Threads: cmp.Or(c.Int("threads"), ranksOf(c).threads()),
		Precision: device.Precision(c.String("precision")),
		Notice:    func(text string) { fmt.Fprintln(c.App.ErrWriter, text) }}
	if r := ranksOf(c); r != nil {
		o.Turn = r.local
	}
	return o
}

// addVariableName adds the name and the value of the environment variable to an error if the device has this
// value as its name.
func addVariableName(o device.Options, err error) error {
	if err != nil && o.Name != "" && o.Name == os.Getenv(deviceVariable) {
		return fmt.Errorf("%s=%s: %w", deviceVariable, o.Name, err)
	}
	return err
}

// openDevice opens the device of --device with the settings of the other device flags.
func openDevice(c *cli.Context) (tensor.Device, error) {
	o := deviceOptions(c)
	if o.Threads < 0 || o.Threads > device.MaxThreads {
		return nil, badFlag(c, "threads", "0 (all) to %d", device.MaxThreads)
	}
	if o.Precision != "" && !slices.Contains(device.Precisions(), string(o.Precision)) {
		return nil, badFlag(c, "precision", "one of: %s", strings.Join(device.Precisions(), ", "))
	}
	if !o.ValidName() {
		return nil, badFlag(c, "device", "one of: %s", strings.Join(device.Names(), ", "))
	}
	if err := o.Validate(); err != nil {
		return nil, usage(c, "%w", addVariableName(o, fmt.Errorf("--%w", err)))
	}
	d, err := openTensorDevice(o)
	return d, addVariableName(o, err)
}

// openTensorDevice opens a device as a [tensor.Device].
func openTensorDevice(o device.Options) (tensor.Device, error) {
	d, err := device.Open(o)
	if err != nil {
		return nil, err
	}
	return d.(tensor.Device), nil
}

// closingFailed is a key of the application's metadata. Its value is an [atomic.Bool], because a server
// closes devices concurrently. closeDevice sets the value if closing fails.
const closingFailed = "closing failed"

// closeDevice closes a device. A failure, usually a report of Vulkan's validation layer, does not
// affect results: closeDevice prints it, and the exit status becomes 1.
func closeDevice(c *cli.Context, d tensor.Device) {
	if err := d.Close(); err != nil {
		fmt.Fprintf(c.App.ErrWriter, "sftseq: closing %s: %v\n", d.Name(), err)
		c.App.Metadata[closingFailed].(*atomic.Bool).Store(true)
	}
}

// precisionOf returns the precision of a device's matrix products: fp32 or mixed.
func precisionOf(d tensor.Device) device.Precision {
	if m, ok := tensor.Capability[tensor.MixedPrecision](d); ok && m.Mixed() {
		return device.Mixed
	}
	return device.FP32
}
