package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/urfave/cli/v2"

	"github.com/sftseq/sftseq/internal/atomicfile"
	"github.com/sftseq/sftseq/internal/chart"
	"github.com/sftseq/sftseq/internal/report"
	"github.com/sftseq/sftseq/sft/config"
	"github.com/sftseq/sftseq/sft/train"
)

func plotCommand() *cli.Command {
	return &cli.Command{
		Name:      "plot",
		Usage:     "draw the learning curves of training runs",
		ArgsUsage: "RUN…",
		UsageText: "sftseq plot [--output FILE] RUN…\n\nExample: sftseq plot --output curve.svg runs/listops/seed-1 runs/listops/seed-2",
		Description: `Draws the loss and the metrics of the task over the steps, from metrics.jsonl of each run
directory. The name of --output decides the format.`,
		Flags: []cli.Flag{runFlag(), &cli.StringFlag{Name: "output", Aliases: []string{"o"}, Value: "curve.svg",
			Usage: "write the figure to `FILE`: .svg, .png or .pdf", TakesFile: true}},
		Action: plotRuns,
	}
}

func plotRuns(c *cli.Context) error {
	dirs, err := runsOf(c)
	if err != nil {
		return err
	}
	if err := checkPlotPath(c, "output"); err != nil {
		return err
	}
	var runs []report.Run
	names := runNames(dirs)
	for i, dir := range dirs {
		m, err := train.ReadMetrics(dir)
		if err != nil {
			return noCurves(dir, err)
		}
		if len(m.Train) == 0 && len(m.Validation) == 0 {
			return fmt.Errorf("%s: expected a step of training or validation, found none yet",
				filepath.Join(dir, "metrics.jsonl"))
		}
		runs = append(runs, report.Run{Name: names[i], Metrics: m})
	}
	f := chart.Figure{Title: "Learning curves"}
	for _, curve := range report.Curves(runs) {
		if curve.Wide { // the loss and the metrics of the task
			f.Charts = append(f.Charts, curve.Chart)
		}
	}
	if err := savePlot(f.Scene(), c.String("output")); err != nil {
		return err
	}
	fmt.Fprintf(c.App.ErrWriter, "%s: curves of %s\n", c.String("output"), shortList(names, 20))
	return nil
}

// noCurves returns the error for a directory whose metrics could not be read because of err.
func noCurves(dir string, err error) error {
	if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) {
		return err
	}
	members := membersOf(dir)
	layered := slices.DeleteFunc(slices.Clone(members), func(member string) bool {
		_, err := os.Stat(filepath.Join(member, "metrics.jsonl"))
		return err != nil
	})
	const expected = "expected a run directory of sftseq train, with metrics.jsonl"
	cfg, configErr := config.Read(filepath.Join(members[0], "config.json"))
	switch {
	case len(members) > 1 && len(layered) > 0:
		return fmt.Errorf("%s: %s, found a folder of %d models: pass %s", dir, expected, len(members),
			strings.Join(layered, " "))
	case configErr == nil && cfg.IsLinear():
		return fmt.Errorf("%s: %s, found a linear model, whose training has no curves (sftseq report shows its scores)",
			dir, expected)
	}
	if errors.Is(err, fs.ErrNotExist) {
		if _, absent := os.Stat(dir); absent == nil {
			return fmt.Errorf("%s: %s%s", dir, expected, foundInstead(dir))
		}
	}
	return fmt.Errorf("%s: %s: %w", dir, expected, atomicfile.Cause(err))
}

// checkPlotPath returns an error if a flag's value does not end in .svg, .png or .pdf.
func checkPlotPath(c *cli.Context, flag string) error {
	if path := c.String(flag); c.IsSet(flag) && chart.FormatOf(path) == "" {
		return usage(c, "--%s %q: expected a name that ends in .svg, .png or .pdf", flag, path)
	}
	return nil
}

// savePlot writes a scene in the format of the path's extension. It creates missing folders.
func savePlot(s *chart.Scene, path string) error {
	if err := atomicfile.MakeFolderOf(path); err != nil {
		return err
	}
	return atomicfile.Write(path, func(w io.Writer) error { return s.Write(w, chart.FormatOf(path)) })
}
