package main

import (
	"github.com/urfave/cli/v2"

	"github.com/sftseq/sftseq/device"
	"github.com/sftseq/sftseq/internal/chart"
	"github.com/sftseq/sftseq/internal/tensor"
)

// measuredFlags are those of a study of times: one thread, as the paper has it, unless more
// are asked for.
func measuredFlags(name string, more ...cli.Flag) []cli.Flag {
	return append(studyFlags(name, more...), append(deviceFlags(device.FP32), &cli.IntFlag{Name: "threads", Value: 1, Usage: "processor threads; 0 takes all"})...)
}

func studyRuntimeCommand() *cli.Command {
	return &cli.Command{
		Name:  "runtime",
		Usage: "the time of a layer by sampled tokens, as in the paper's runtime table",
		UsageText: `sftseq study runtime [flags]

Example: sftseq study runtime --shape notebook --reps 9`,
		Description: runtimeDescription + `

This is sftseq bench runtime, which can measure in turns with PyTorch, too.`,
		Flags:  measuredFlags("runtime", runtimeFlags()...),
		Action: studyRuntime,
	}
}

func studyRuntime(c *cli.Context) error {
	report, err := newStudyReport(c, 2, (&runtimeBench{}).columns()...)
	if err != nil {
		return err
	}
	return benchRuntime(c, func(b *runtimeBench, d tensor.Device) error {
		notes, err := b.rows(c, d, report.add)
		if err != nil {
			return err
		}
		picture := b.chart()
		var paper []chart.Datum
		for _, l := range b.layers {
			if s := l.PaperSeconds(); s > 0 && l.Kind == "sft" {
				paper = append(paper, chart.Datum{X: float64(l.K), Y: s})
			}
		}
		if paper != nil {
			picture.Series = append(picture.Series, chart.Series{Name: "the paper's SFT", Points: paper})
		}
		for i := range picture.Series {
			picture.Series[i].Style = chart.StyleOf(i)
		}
		return report.finish(chart.Figure{Title: runtimeTitle, Charts: []chart.Chart{picture}}, append(notes,
			"The paper (Table 6): the mean of 10 runs of PyTorch on one thread of an unknown processor. Here: the medians of rounds, and this program.")...)
	})
}
