package main

import (
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/sftseq/sftseq/device"
	"github.com/sftseq/sftseq/internal/chart"
	"github.com/sftseq/sftseq/internal/tensor"
)

func benchCommand() *cli.Command {
	return &cli.Command{
		Name:  "bench",
		Usage: "measure speed and memory",
		UsageText: `sftseq bench COMMAND [flags]

Example: sftseq bench model --length 1024,2048,4096 --what forward`,
		Subcommands: []*cli.Command{benchKernelsCommand(), benchModelCommand(), benchRuntimeCommand()},
	}
}

// benchFlags returns the given flags of a benchmark and the flags that all benchmarks share.
func benchFlags(flags ...cli.Flag) []cli.Flag {
	onDevice := deviceFlags(device.FP32)
	threads := findFlag(onDevice, "threads").(*cli.IntFlag)
	threads.Value, threads.DefaultText = 1, "1; 0 is all"
	return slices.Concat(flags, onDevice,
		group(outputGroup, &cli.BoolFlag{Name: "json", Usage: "print one JSON object per line"}))
}

func plotFlag(usage string) cli.Flag {
	return &cli.StringFlag{Name: "plot", Category: outputGroup,
		Usage: usage + " to `FILE`: .svg, .png or .pdf", TakesFile: true}
}

// openBenchDevice opens the device of --device with the threads of --threads. It refuses arguments.
func openBenchDevice(c *cli.Context) (d tensor.Device, release func(), err error) {
	if err := noArguments(c); err != nil {
		return nil, nil, usageError{err}
	}
	if d, err = openDevice(c); err != nil {
		return nil, nil, err
	}
	return d, func() { closeDevice(c, d) }, nil
}

// benchThreads returns the number of threads that the device was opened with.
func benchThreads(c *cli.Context) int {
	if n := c.Int("threads"); n > 0 {
		return n
	}
	return runtime.GOMAXPROCS(0)
}

// parseCounts parses the value of a flag, a list of distinct positive integers, separated by commas.
func parseCounts(c *cli.Context, name string) ([]int, error) {
	var out []int
	for word := range strings.SplitSeq(c.String(name), ",") {
		n, err := strconv.Atoi(strings.TrimSpace(word))
		if err != nil || n < 1 || n > 1<<24 {
			return nil, badFlag(c, name, "integers from 1 to %d, separated by commas, found %q", 1<<24, word)
		}
		if slices.Contains(out, n) {
			return nil, badFlag(c, name, "each number once, found %d twice", n)
		}
		out = append(out, n)
	}
	return out, nil
}

// benchChart returns an empty line chart over a logarithmic axis with the given ticks.
func benchChart(x, y string, ticks []int) chart.Chart {
	c := chart.Chart{X: chart.Axis{Label: x, Logarithmic: true},
		Y: chart.Axis{Label: y, Zero: true}, Width: 640, Height: 340}
	for _, n := range slices.Sorted(slices.Values(ticks)) {
		c.X.Ticks = append(c.X.Ticks, chart.Tick{Value: float64(n), Label: strconv.Itoa(n)})
	}
	return c
}

// saveBenchChart writes a chart with a title to an image file.
func saveBenchChart(title string, c chart.Chart, path string) error {
	for i := range c.Series {
		c.Series[i].Style = chart.StyleOf(i)
	}
	return savePlot(chart.Figure{Title: title, Charts: []chart.Chart{c}}.Scene(), path)
}
