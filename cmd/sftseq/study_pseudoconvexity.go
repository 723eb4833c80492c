package main

import (
	"fmt"
	"strconv"

	"github.com/urfave/cli/v2"

	"github.com/sftseq/sftseq/internal/chart"
	"github.com/sftseq/sftseq/internal/study"
)

func studyPseudoconvexityCommand() *cli.Command {
	return &cli.Command{
		Name:  "pseudoconvexity",
		Usage: "whether a layer is pseudoconvex in its weights",
		UsageText: `sftseq study pseudoconvexity [flags]

Example: sftseq study pseudoconvexity --tests 2000`,
		Description: `A function f is pseudoconvex if it falls nowhere in a direction in which it first rises.
This draws two sets W₁, W₂ of the weights of a layer on a few tokens, keeps those where f,
an entry of the output, rises at W₁ towards W₂, and counts how often f is smaller at W₂.
Inside means that no maximum and no ReLU changes its side on the way (for the dot product,
no ReLU); anywhere, that they may. Gradients are exact.`,
		Flags: programFlags("pseudoconvexity",
			&cli.IntFlag{Name: "tokens", Value: 4, Usage: "tokens"},
			&cli.IntFlag{Name: "width", Value: 4, Usage: "channels of a token, an even number"},
			&cli.IntFlag{Name: "tests", Value: 20000, Usage: "pairs of weights of each case"}),
		Action: studyPseudoconvexity,
	}
}

func studyPseudoconvexity(c *cli.Context) error {
	report, err := newStudyReport(c, 2, "weights", "layer", "inside", "anywhere")
	if err != nil {
		return err
	}
	p := &study.Pseudoconvexity{Seed: c.Uint64("seed"), Cases: study.PseudoconvexityCases}
	if p.Tokens, err = countFlag(c, "tokens", 1, 64); err != nil {
		return err
	}
	if p.Width, err = countFlag(c, "width", 2, 64); err != nil {
		return err
	}
	if p.Width%2 != 0 {
		return usage(c, "--width %d, expected an even number: there are cases of two heads", p.Width)
	}
	if p.Tests, err = countFlag(c, "tests", 1, 1<<24); err != nil {
		return err
	}
	if p.Threads, err = studyThreads(c); err != nil {
		return err
	}
	bar := newProgress(int64(p.Work()), "pseudoconvexity", "tests")
	points, err := p.Run(c.Context, bar.Add)
	bar.Finish()
	if err != nil {
		return err
	}
	picture := studyChart("", chart.Axis{Label: "case, in the order of the table"}, chart.Axis{Label: "tests that contradict (%)", Zero: true})
	for n, p := range points {
		layer := fmt.Sprintf("%s, heads %d", p.Score, p.Heads)
		if p.FeedForward {
			layer += ", GELU and fc2"
		}
		if err := report.add(p, p.Block, layer, percentText(p.Inside), percentText(p.Anywhere)); err != nil {
			return err
		}
		x := float64(n + 1)
		picture.X.Places = append(picture.X.Places, chart.Place{At: x, Label: strconv.Itoa(n + 1)})
		picture.Boxes = append(picture.Boxes,
			chart.Box{From: x - 0.35, To: x, Value: 100 * p.Inside, Ink: chart.StyleOf(0).Ink, Label: percentText(p.Inside), Title: fmt.Sprintf("%v: inside", p.PseudoconvexityCase)},
			chart.Box{From: x, To: x + 0.35, Value: 100 * p.Anywhere, Ink: chart.StyleOf(0).Ink, Pale: true, Label: percentText(p.Anywhere), Title: fmt.Sprintf("%v: anywhere", p.PseudoconvexityCase)})
	}
	picture.Width = 760
	return report.finish(chart.Figure{Title: "Tests that contradict pseudoconvexity, inside one orthant and anywhere (pale)", Charts: []chart.Chart{picture}},
		`The paper's theorem says that a layer's output is pseudoconvex in each of these blocks, also
with GELU. A part above 0 inside contradicts it. A case of few tests may miss what is rare.`,
		fmt.Sprintf("Tokens %d, width %d, %d tests of each case; the paper has no measurement of this. The theorem's layer has no norm and no sampling, and neither has this.", p.Tokens, p.Width, p.Tests))
}

// percentText is a part as a percentage of two digits behind the point.
func percentText(v float64) string { return fmt.Sprintf("%.2f%%", 100*v) }
