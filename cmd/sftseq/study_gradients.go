package main

import (
	"fmt"
	"math"
	"strconv"

	"github.com/urfave/cli/v2"

	"github.com/sftseq/sftseq/internal/chart"
	"github.com/sftseq/sftseq/internal/study"
)

func studyGradientsCommand() *cli.Command {
	return &cli.Command{
		Name:  "gradients",
		Usage: "how gradients grow with the number of tokens",
		UsageText: `sftseq study gradients [flags]

Example: sftseq study gradients --tokens 64,256,1024 --draws 5`,
		Description: `The paper's theorem says that the squared norm of attention's gradient by W_V grows as
the number of tokens n does, and that by W_Q does not grow. This computes both in float64
for random weights and tokens, in the theorem's simplest case (a number is query and key
of a token, the leak is a constant), and fits a line to their logarithms.`,
		Flags: programFlags("gradients",
			&cli.StringFlag{Name: "tokens", Value: "64,128,256,512,1024,2048,4096", Usage: "numbers of tokens, `N,N,…`"},
			&cli.IntFlag{Name: "width", Value: 16, Usage: "channels of a token"},
			&cli.Float64Flag{Name: "leak", Value: 1, Usage: "the constant of the denominator"},
			&cli.IntFlag{Name: "draws", Value: 10, Usage: "draws of each number"}),
		Action: studyGradients,
	}
}

func studyGradients(c *cli.Context) error {
	report, err := newStudyReport(c, 0, "tokens", "‖∂Sa/∂W_V‖²", "‖∂Sa/∂W_Q‖²")
	if err != nil {
		return err
	}
	g := &study.Gradients{Seed: c.Uint64("seed"), Leak: c.Float64("leak")}
	if g.Sizes, err = parseCounts(c, "tokens"); err != nil {
		return err
	}
	if len(g.Sizes) < 2 {
		return usage(c, "--tokens: a slope needs at least two numbers")
	}
	if g.Leak <= 0 || math.IsInf(g.Leak, 0) || math.IsNaN(g.Leak) {
		return usage(c, "--leak %v, expected a number above 0", g.Leak)
	}
	if g.Width, err = countFlag(c, "width", 1, 4096); err != nil {
		return err
	}
	if g.Draws, err = countFlag(c, "draws", 1, 1<<20); err != nil {
		return err
	}
	if g.Threads, err = studyThreads(c); err != nil {
		return err
	}
	bar := newProgress(int64(g.Work()), "gradients", "pairs of tokens")
	points, err := g.Run(c.Context, bar.Add)
	bar.Finish()
	if err != nil {
		return err
	}
	picture := studyChart("", chart.Axis{Label: "tokens", Logarithmic: true}, chart.Axis{Label: "squared norm, mean of the draws", Logarithmic: true})
	lines := [2][]chart.Datum{}
	for _, p := range points {
		if err := report.add(p, strconv.Itoa(p.Tokens), spreadText(p.Value, "%.4g"), spreadText(p.Query, "%.4g")); err != nil {
			return err
		}
		lines[0] = append(lines[0], chart.Datum{X: float64(p.Tokens), Y: p.Value.Mean})
		lines[1] = append(lines[1], chart.Datum{X: float64(p.Tokens), Y: p.Query.Mean})
	}
	value, query := study.Slopes(points)
	addLine(&picture, 0, fmt.Sprintf("by W_V, slope %.2f", value), lines[0])
	addLine(&picture, 1, fmt.Sprintf("by W_Q, slope %.2f", query), lines[1])
	return report.finish(chart.Figure{Title: "Squared norm of the gradient of attention", Charts: []chart.Chart{picture}},
		fmt.Sprintf("slope over the number of tokens, both in logarithms: by W_V %.2f, by W_Q %.2f", value, query),
		`The paper's theorem says Θ(n) by W_V, slope 1, and Θ(1) by W_Q, slope 0. Its proof of the
second leaves out the products of different tokens.`,
		"The paper has no numbers: sizes, width, leak and draws were chosen here.")
}
