package main

import (
	"fmt"
	"io"

	"github.com/urfave/cli/v2"

	"github.com/sftseq/sftseq/internal/bench/gpukit"
)

func benchReportCommand() *cli.Command {
	return &cli.Command{
		Name:      "report",
		Usage:     "print the results of the GPU kit as tables",
		ArgsUsage: "results.jsonl",
		UsageText: `sftseq bench report results.jsonl

Example: sftseq bench report results/results.jsonl > report.txt`,
		Description: `Reads the JSON lines that run.sh of make bench-gpu-kit has written, as far as it
came, and prints them as tables of Markdown: what the device is and whether it
computes as it should, tokens a second beside PyTorch's, the share of each kernel,
and what failed.`,
		Action: benchReport,
	}
}

func benchReport(c *cli.Context) error {
	if c.NArg() != 1 {
		return usage(c, "%d arguments, expected the one file results.jsonl", c.NArg())
	}
	f, name, err := openFile(c, c.Args().First())
	if err != nil {
		return err
	}
	defer f.Close()
	r := &gpukit.Kit{}
	if err := r.Read(f); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if r.Lines == 0 {
		return fmt.Errorf("%s: no results of the GPU kit", name)
	}
	_, err = io.WriteString(c.App.Writer, r.Markdown())
	return err
}
