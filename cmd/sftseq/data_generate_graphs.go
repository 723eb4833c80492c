package main

import (
	"github.com/urfave/cli/v2"

	"github.com/sftseq/sftseq/lra"
)

// generateGraphsCommand returns the command that generates graphs whose label depends on their
// edges.
func generateGraphsCommand() *cli.Command {
	usual := lra.UsualGraphs
	return &cli.Command{
		Name: lra.GraphsName, Usage: "generate graphs whose edges join nodes of the same kind often or rarely",
		UsageText: "sftseq data generate graphs --out DIR [flags]\n\nExample: sftseq data generate graphs --out data/graphs\n         sftseq train custom --data data/graphs --out runs/graphs",
		Description: `Draws graphs with two kinds of nodes, in equal numbers. The class states which fraction of
the edges joins nodes of the same kind: 80% in like, 50% in mixed, 20% in unlike. A model needs both the edges and the
kinds to predict the class. The feature of a node is its kind, 1 or -1. The feature of an edge is its
length, which is independent of the class. The same seed generates the same files.`,
		Flags: append(generateFlags(usual.Train, usual.Val, usual.Test), group(dataGroup,
			&cli.IntFlag{Name: "nodes", Value: usual.Nodes,
				Usage: "draw graphs of N/2 to `N` nodes"},
			&cli.IntFlag{Name: "degree", Value: usual.Degree,
				Usage: "give a node `N` edges on average, each in both directions"})...),
		Action: generateGraphs,
	}
}

func generateGraphs(c *cli.Context) error {
	if err := noArguments(c); err != nil {
		return err
	}
	if err := requireFlags(c, "out"); err != nil {
		return err
	}
	o := lra.GraphsOptions{Train: c.Int("train"), Val: c.Int("val"), Test: c.Int("test"), Nodes: c.Int("nodes"),
		Degree: c.Int("degree"), Seed: c.Uint64("seed"), Replace: c.Bool("force")}
	if err := o.Validate(); err != nil {
		return usage(c, "%w", err)
	}
	bar := newProgress(int64(o.Train)+int64(o.Val)+int64(o.Test), "generating "+lra.GraphsName, "graphs")
	o.Progress = bar.Add
	d, err := lra.GenerateGraphs(c.Context, c.String("out"), o)
	bar.Finish()
	if err := reportDataset(c, d, err); err != nil {
		return err
	}
	return addBaselines(c, d)
}
