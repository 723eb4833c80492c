package main

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"sftseq/internal/atomicfile"
	"sftseq/sft"
)

func plotCommand() *cli.Command {
	return &cli.Command{
		Name:      "plot",
		Usage:     "draw the learning curves of training runs",
		ArgsUsage: "RUN…",
		Description: `Draws accuracy over steps, of training and of validation, from the metrics.jsonl
of each run directory. The ending of --output decides the format: svg, png, pdf.

Example:
   sftseq plot --output curve.svg runs/listops/seed-1 runs/listops/seed-2`,
		Flags:  []cli.Flag{&cli.StringFlag{Name: "output", Aliases: []string{"o"}, Value: "curve.svg", Usage: "picture `FILE`"}},
		Action: plotRuns,
	}
}

// curve is what one run's metrics.jsonl says of its accuracy, in percent.
type curve struct{ train, validation plotter.XYs }

func plotRuns(c *cli.Context) error {
	if !c.Args().Present() {
		return usage(c, "no run directory given")
	}
	if err := checkPicture(c, "output"); err != nil {
		return err
	}
	p := plot.New()
	p.X.Label.Text, p.Y.Label.Text = "step", "accuracy (%)"
	p.Legend.Top, p.Legend.Left = false, false // where learning curves are not
	p.Add(plotter.NewGrid())
	for i, dir := range c.Args().Slice() {
		points, err := readCurve(dir)
		if err != nil {
			return err
		}
		if len(points.train) == 0 && len(points.validation) == 0 {
			return fmt.Errorf("%s: no line of training or validation yet", filepath.Join(dir, "metrics.jsonl"))
		}
		name := filepath.Base(filepath.Clean(dir))
		if err := addCurve(p, i, name, points); err != nil {
			return err
		}
	}
	p.Y.Min = 0
	if err := savePlot(p, c.String("output")); err != nil {
		return err
	}
	fmt.Fprintf(c.App.ErrWriter, "%s: curves of %s\n", c.String("output"), shortList(runNames(c.Args().Slice()), 20))
	return nil
}

// pictureFormat is what the end of a picture's name says.
func pictureFormat(path string) string {
	return strings.TrimPrefix(strings.ToLower(filepath.Ext(path)), ".")
}

// checkPicture refuses a flag that names no picture which can be drawn.
func checkPicture(c *cli.Context, flag string) error {
	if path := c.String(flag); c.IsSet(flag) && !slices.Contains([]string{"svg", "png", "pdf"}, pictureFormat(path)) {
		return usage(c, "--%s %q: expected a name that ends in .svg, .png or .pdf", flag, path)
	}
	return nil
}

// savePlot writes the picture in the format that the name ends in.
func savePlot(p *plot.Plot, path string) error {
	picture, err := p.WriterTo(18*vg.Centimeter, 10*vg.Centimeter, pictureFormat(path))
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return atomicfile.Write(path, func(w io.Writer) error {
		_, err := picture.WriteTo(w)
		return err
	})
}

// addCurve draws training as a line and validation as points on a line, in one
// colour.
func addCurve(p *plot.Plot, i int, name string, c curve) error {
	if len(c.train) > 0 {
		line, err := plotter.NewLine(c.train)
		if err != nil {
			return err
		}
		line.Color, line.Width = plotutil.Color(i), vg.Points(0.6)
		p.Add(line)
		p.Legend.Add(name+" training", line)
	}
	if len(c.validation) > 0 {
		line, points, err := plotter.NewLinePoints(c.validation)
		if err != nil {
			return err
		}
		line.Color, line.Width = plotutil.Color(i), vg.Points(1.5)
		points.Color, points.Shape = plotutil.Color(i), draw.CircleGlyph{}
		p.Add(line, points)
		p.Legend.Add(name+" validation", line, points)
	}
	return nil
}

func readCurve(dir string) (curve, error) {
	var c curve
	m, err := sft.ReadMetrics(dir)
	if err != nil {
		return c, err
	}
	for _, r := range m.Train {
		c.train = append(c.train, plotter.XY{X: float64(r.Step), Y: 100 * r.Accuracy})
	}
	for _, r := range m.Validation {
		c.validation = append(c.validation, plotter.XY{X: float64(r.Step), Y: 100 * r.Accuracy})
	}
	return c, nil
}
