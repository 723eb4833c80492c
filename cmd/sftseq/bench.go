package main

import (
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"sftseq/device"
	"sftseq/internal/tensor"
)

func benchCommand() *cli.Command {
	return &cli.Command{
		Name:  "bench",
		Usage: "measure speed and memory, beside PyTorch if it is there",
		UsageText: `sftseq bench COMMAND [flags]

Example: sftseq bench model --length 1024,2048,4096 --what forward`,
		Subcommands: []*cli.Command{benchKernelsCommand(), benchModelCommand(), benchRuntimeCommand(), benchReportCommand()},
	}
}

// benchFlags are those of every measurement.
func benchFlags(more ...cli.Flag) []cli.Flag {
	return append(deviceFlags(device.FP32), append([]cli.Flag{
		&cli.IntFlag{Name: "threads", Value: 1, Usage: "processor threads; 0 takes all"},
		&cli.BoolFlag{Name: "json", Usage: "print one JSON object a line"},
	}, more...)...)
}

func againstFlag() cli.Flag {
	return &cli.StringFlag{Name: "against", Usage: "measure sft_torch_cpu.py in turns with this: the file or its `PATH`", TakesFile: true}
}

func plotFlag(usage string) cli.Flag {
	return &cli.StringFlag{Name: "plot", Usage: usage + " in `FILE`.svg, .png or .pdf", TakesFile: true}
}

// openBenchDevice opens --device for --threads.
func openBenchDevice(c *cli.Context) (d tensor.Device, release func(), err error) {
	if err := noArguments(c); err != nil {
		return nil, nil, usageError{err}
	}
	if d, err = openDevice(c); err != nil {
		return nil, nil, err
	}
	return d, func() { closeDevice(c, d) }, nil
}

// benchThreads is the number of threads that a device was opened for.
func benchThreads(c *cli.Context) int {
	if n := c.Int("threads"); n > 0 {
		return n
	}
	return runtime.GOMAXPROCS(0)
}

// parseCounts reads a list of numbers from 1, separated by commas.
func parseCounts(c *cli.Context, name string) ([]int, error) {
	var out []int
	for word := range strings.SplitSeq(c.String(name), ",") {
		n, err := strconv.Atoi(strings.TrimSpace(word))
		if err != nil || n < 1 || n > 1<<24 {
			return nil, usage(c, "--%s: %q, expected numbers from 1 to %d separated by commas", name, word, 1<<24)
		}
		if slices.Contains(out, n) {
			return nil, usage(c, "--%s: %d is there twice", name, n)
		}
		out = append(out, n)
	}
	return out, nil
}

// duration is a time such as "1.25 ms".
func duration(seconds float64) string {
	for _, u := range []struct {
		size float64
		name string
	}{{1, "s"}, {1e-3, "ms"}} {
		if seconds >= u.size {
			return significant(seconds/u.size) + " " + u.name
		}
	}
	return significant(seconds/1e-6) + " µs"
}

// significant has three digits, and more before the point if there are.
func significant(v float64) string {
	switch {
	case v >= 100:
		return fmt.Sprintf("%.0f", v)
	case v >= 10:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.2f", v)
}

// benchPlot draws lines of points over the same places of the x axis.
type benchPlot struct {
	*plot.Plot
	lines int
}

// newBenchPlot marks the places on a logarithmic axis.
func newBenchPlot(x, y string, places []int) *benchPlot {
	p := &benchPlot{Plot: plot.New()}
	p.X.Label.Text, p.Y.Label.Text = x, y
	p.X.Scale = plot.LogScale{}
	var ticks plot.ConstantTicks
	for _, n := range places {
		ticks = append(ticks, plot.Tick{Value: float64(n), Label: strconv.Itoa(n)})
	}
	p.X.Tick.Marker = ticks
	p.Y.Tick.Marker = plot.TickerFunc(func(least, most float64) []plot.Tick {
		ticks := plot.DefaultTicks{}.Ticks(least, most)
		for i, t := range ticks {
			if t.Label != "" {
				ticks[i].Label = strconv.FormatFloat(t.Value, 'g', 4, 64)
			}
		}
		return ticks
	})
	p.Add(plotter.NewGrid())
	p.Legend.Top = true
	return p
}

func (p *benchPlot) line(name string, points plotter.XYs) error {
	line, dots, err := plotter.NewLinePoints(points)
	if err != nil {
		return err
	}
	line.Color, line.Width = plotutil.Color(p.lines), vg.Points(1.5)
	dots.Color, dots.Shape = line.Color, draw.CircleGlyph{}
	p.lines++
	p.Add(line, dots)
	p.Legend.Add(name, line, dots)
	return nil
}

func (p *benchPlot) save(path string) error {
	p.Y.Min = 0
	p.Y.Max *= 1.2 // room for the legend
	return savePlot(p.Plot, path)
}
