package main

import (
	"github.com/urfave/cli/v2"

	"github.com/sftseq/sftseq/internal/chart"
	"github.com/sftseq/sftseq/sft"
)

func studyConvergenceCommand() *cli.Command {
	return &cli.Command{
		Name:  "convergence",
		Usage: "learning curves of the paper's attention and of softmax",
		UsageText: `sftseq study convergence [flags]

Examples: sftseq study convergence --points 128 --steps 400 --seeds 1,2,3
          sftseq study convergence --task listops --steps 1000`,
		Description: `Trains three models that differ in their attention alone, each reading every token: with
the leaky probability, maxout and the relation of the task's preset; with softmax, the dot
product and this relation; and with softmax, the dot product and no relation. The paper
says that they learn in this order, the first the fastest. Runs are kept in --out, where
sftseq report and plot can show them; the same command goes on after Ctrl-C.`,
		Flags:  trainingFlags("convergence"),
		Action: studyConvergence,
	}
}

func studyConvergence(c *cli.Context) error {
	report, err := newStudyReport(c, 1, curveColumns...)
	if err != nil {
		return err
	}
	s, err := newStudyTraining(c)
	if err != nil {
		return err
	}
	attention := func(score, probability string) func(m *sft.Config) {
		return func(m *sft.Config) { m.Score, m.Probability, m.NumSampledTokens = score, probability, s.longest }
	}
	softmax := attention("dot", "softmax")
	variants := []variant{
		{"leaky, maxout, relative", "leaky", attention("maxout", "leaky_relu")},
		{"softmax, dot, relative", "softmax", softmax},
		{"softmax, dot", "vanilla", func(m *sft.Config) { softmax(m); m.Relative = sft.NoRelation }},
	}
	return s.compare(c, report, variants, "Learning curves by attention",
		`The paper (Fig. 6): the first learns faster than the second, and both faster than the third,
on ModelNet40 over 256 epochs; it has no numbers, and no spread over seeds.`)
}

// compare trains variants, and prints and draws their curves.
func (s *studyTraining) compare(c *cli.Context, report *studyReport, variants []variant, title, paper string) error {
	runs, err := s.train(c, variants)
	if err != nil {
		return err
	}
	panels, err := s.curves(report, variants, runs)
	if err != nil {
		return err
	}
	return report.finish(chart.Figure{Title: title, Charts: panels}, paper, "Here: "+s.data.set.Manifest.Name+", "+s.describe(&s.config)+".")
}
