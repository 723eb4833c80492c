package main

import (
	"github.com/urfave/cli/v2"

	"github.com/sftseq/sftseq/lra"
)

func dataGenerateCommand() *cli.Command {
	return &cli.Command{
		Name:        "generate",
		Usage:       "generate a synthetic data set",
		Description: "Example: sftseq data generate listops --out data/listops",
		Subcommands: []*cli.Command{generateListOpsCommand(), generatePathfinderCommand()},
	}
}

// generateFlags are those of every generated data set.
func generateFlags(task *lra.Task) []cli.Flag {
	published := task.Presets[len(task.Presets)-1].Data
	return []cli.Flag{
		&cli.StringFlag{Name: "out", Usage: "`DIR` of the data set (required)", TakesFile: true},
		&cli.IntFlag{Name: "train", Value: published.Train, Usage: "rows for training"},
		&cli.IntFlag{Name: "val", Value: published.Val, Usage: "rows for validation"},
		&cli.IntFlag{Name: "test", Value: published.Test, Usage: "rows for testing"},
		&cli.Uint64Flag{Name: "seed", Usage: "seed of the random numbers"},
		noBaselinesFlag(),
		&cli.BoolFlag{Name: "force", Usage: "replace a complete data set"},
	}
}

func generateListOpsCommand() *cli.Command {
	return &cli.Command{
		Name:      "listops",
		Usage:     "ListOps by the rule of the Long Range Arena",
		UsageText: "sftseq data generate listops --out DIR [flags]\n\nExample: sftseq data generate listops --out data/listops --train 96000 --seed 1",
		Description: `Draws expressions of nested MIN, MAX, MED and SM with their values. The same
seed and rule give the same files on every machine. By default the rule is that
of the Long Range Arena: more than 500 and fewer than 2000 tokens.`,
		Flags: append(generateFlags(lra.ListOps),
			&cli.IntFlag{Name: "min-length", Value: lra.LRAListOps.MinLength, Usage: "keep expressions of more tokens than this"},
			&cli.IntFlag{Name: "max-length", Value: lra.LRAListOps.MaxLength, Usage: "keep expressions of fewer tokens than this"},
			&cli.IntFlag{Name: "max-depth", Value: lra.LRAListOps.MaxDepth, Usage: "depth of the tree"},
			&cli.IntFlag{Name: "max-args", Value: lra.LRAListOps.MaxArgs, Usage: "most arguments of an operator"},
		),
		Action: func(c *cli.Context) error {
			rule := lra.ListOpsRule{MinLength: c.Int("min-length"), MaxLength: c.Int("max-length"), MaxDepth: c.Int("max-depth"), MaxArgs: c.Int("max-args")}
			if err := rule.Validate(); err != nil {
				return usage(c, "--min-length %d --max-length %d --max-depth %d --max-args %d: %w", rule.MinLength, rule.MaxLength, rule.MaxDepth, rule.MaxArgs, err)
			}
			return generate(c, lra.ListOps, lra.GenerateOptions{ListOps: rule})
		},
	}
}

func generatePathfinderCommand() *cli.Command {
	return &cli.Command{
		Name:      "pathfinder",
		Usage:     "Pathfinder by the rule of the Long Range Arena",
		UsageText: "sftseq data generate pathfinder --out DIR [flags]\n\nExample: sftseq data generate pathfinder --out data/pathfinder --train 20000 --val 2000 --test 2000",
		Description: `Draws images of 32×32 pixels with two long dashed contours, short ones that distract,
and two marks, which are at the two ends of one contour (joined) or at ends of both
(apart). The same seed and rule give the same files. Contours of 14 dashes are the split
that is commonly reported; 9 and 6 are the easier ones.`,
		Flags: append(generateFlags(lra.Pathfinder),
			&cli.IntFlag{Name: "contour", Value: lra.LRAPathfinder.Contour, Usage: "dashes of a contour"},
			&cli.IntFlag{Name: "distractors", Value: lra.LRAPathfinder.Distractors, Usage: "short contours beside the two"},
			&cli.IntFlag{Name: "train-shortest", Usage: "order the training split from easy to hard, for train --stages: contours of that many dashes come first, then of one dash more, and so on up to --contour, in equal numbers, with 0 to --distractors distractors in turn; 0: its images are like those of the other splits"},
		),
		Action: func(c *cli.Context) error {
			rule := lra.PathfinderRule{Contour: c.Int("contour"), Distractors: c.Int("distractors")}
			if err := rule.Validate(); err != nil {
				return usage(c, "--contour %d --distractors %d: %w", rule.Contour, rule.Distractors, err)
			}
			shortest := c.Int("train-shortest")
			if shortest > rule.Contour {
				return usage(c, "--train-shortest %d: expected 1 to --contour %d, or 0", shortest, rule.Contour)
			}
			return generate(c, lra.Pathfinder, lra.GenerateOptions{Pathfinder: &rule, PathfinderShortest: shortest})
		},
	}
}

// generate makes what the flags ask for, beside a task's own options.
func generate(c *cli.Context, task *lra.Task, options lra.GenerateOptions) error {
	if err := noArguments(c); err != nil {
		return err
	}
	if err := needFlags(c, "out"); err != nil {
		return err
	}
	for _, f := range c.Command.Flags {
		if f, ok := f.(*cli.IntFlag); ok && c.Int(f.Name) < 0 {
			return usage(c, "--%s: expected 0 or more, found %d", f.Name, c.Int(f.Name))
		}
	}
	options.Train, options.Val, options.Test = c.Int("train"), c.Int("val"), c.Int("test")
	options.Seed, options.Replace = c.Uint64("seed"), c.Bool("force")
	bar := newProgress(int64(options.Train)+int64(options.Val)+int64(options.Test), "generating "+task.Name, "rows")
	options.Progress = bar.Add
	d, err := task.Generate(c.Context, c.String("out"), options)
	bar.Finish()
	if err := reportDataset(c, d, err); err != nil {
		return err
	}
	return newBaselines(c, d)
}
