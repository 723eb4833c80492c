package main

import (
	"errors"
	"fmt"

	"github.com/urfave/cli/v2"

	"sftseq/lra"
	"sftseq/seq"
)

// dataCommand makes and examines data sets.
func dataCommand() *cli.Command {
	return &cli.Command{
		Name:  "data",
		Usage: "generate, convert and examine data sets",
		Description: `A data set is a directory of Arrow files (train.arrow, val.arrow, test.arrow)
and dataset.json, which is written last: where it is missing the data set is
incomplete.`,
		Subcommands: []*cli.Command{dataGenerateCommand(), dataConvertCommand(), dataInfoCommand()},
	}
}

func dataGenerateCommand() *cli.Command {
	return &cli.Command{
		Name:  "generate",
		Usage: "generate a synthetic data set",
		Subcommands: []*cli.Command{{
			Name:      "listops",
			Usage:     "ListOps by the rule of the Long Range Arena",
			UsageText: "sftseq data generate listops --out DIR [flags]\n\nExample: sftseq data generate listops --out data/listops --train 96000 --seed 1",
			Description: `Draws expressions of nested MIN, MAX, MED and SM with their values. The same
seed and rule give the same files on every machine. By default the rule is that
of the Long Range Arena: more than 500 and fewer than 2000 tokens.`,
			Flags: []cli.Flag{
				&cli.StringFlag{Name: "out", Usage: "directory of the data set", Required: true, TakesFile: true},
				&cli.IntFlag{Name: "train", Value: 96000, Usage: "rows for training"},
				&cli.IntFlag{Name: "val", Value: 2000, Usage: "rows for validation"},
				&cli.IntFlag{Name: "test", Value: 2000, Usage: "rows for testing"},
				&cli.Uint64Flag{Name: "seed", Usage: "seed of the random numbers"},
				&cli.IntFlag{Name: "min-length", Value: lra.LRAListOps.MinLength, Usage: "keep expressions of more tokens than this"},
				&cli.IntFlag{Name: "max-length", Value: lra.LRAListOps.MaxLength, Usage: "keep expressions of fewer tokens than this"},
				&cli.IntFlag{Name: "max-depth", Value: lra.LRAListOps.MaxDepth, Usage: "depth of the tree"},
				&cli.IntFlag{Name: "max-args", Value: lra.LRAListOps.MaxArgs, Usage: "most arguments of an operator"},
				&cli.BoolFlag{Name: "force", Usage: "replace a complete data set"},
			},
			Action: generateListOps,
		}},
	}
}

func generateListOps(c *cli.Context) error {
	if err := noArguments(c); err != nil {
		return err
	}
	for _, name := range []string{"train", "val", "test", "max-length", "max-depth", "max-args", "min-length"} {
		if c.Int(name) < 0 {
			return fmt.Errorf("--%s: expected 0 or more, found %d", name, c.Int(name))
		}
	}
	options := lra.GenerateOptions{
		Train: c.Int("train"), Val: c.Int("val"), Test: c.Int("test"), Seed: c.Uint64("seed"), Replace: c.Bool("force"),
		ListOps: lra.ListOpsRule{
			MinLength: c.Int("min-length"), MaxLength: c.Int("max-length"), MaxDepth: c.Int("max-depth"), MaxArgs: c.Int("max-args"),
		},
	}
	bar := newProgress(int64(options.Train)+int64(options.Val)+int64(options.Test), "generating listops", "rows")
	options.Progress = bar.Add
	d, err := lra.ListOps.Generate(c.Context, c.String("out"), options)
	bar.Finish()
	return reportDataset(c, d, err)
}

func dataConvertCommand() *cli.Command {
	out := &cli.Command{Name: "convert", Usage: "make a data set from official files"}
	for _, name := range lra.Names() {
		task, err := lra.Lookup(name)
		if err != nil {
			panic(err)
		}
		flags := []cli.Flag{
			&cli.StringFlag{Name: "from", Usage: "a file, or the directory of them all", Required: true, TakesFile: true},
			&cli.StringFlag{Name: "to", Usage: "directory of the data set", Required: true, TakesFile: true},
			&cli.StringFlag{Name: "split", Usage: "train, val or test, for a single file", DefaultText: "test"},
			&cli.BoolFlag{Name: "force", Usage: "replace what is there already"},
		}
		if task.Import.Verifies {
			flags = append(flags, &cli.BoolFlag{Name: "no-verify", Usage: "take labels as stated"})
		}
		if task.Import.Documents {
			flags = append(flags, &cli.StringFlag{Name: "docs", Usage: "the texts that ids stand for: a file, directory or archive", DefaultText: "docs.tsv beside the pairs", TakesFile: true})
		}
		out.Subcommands = append(out.Subcommands, &cli.Command{
			Name: name, Usage: task.Import.Usage, Description: task.Import.Description, Flags: flags,
			UsageText: fmt.Sprintf("sftseq data convert %s --from FILE|DIR --to DIR [flags]\n\nExample: %s", name, task.Import.Example),
			Action:    func(c *cli.Context) error { return convert(c, task) },
		})
	}
	return out
}

func convert(c *cli.Context, task *lra.Task) error {
	if err := noArguments(c); err != nil {
		return err
	}
	switch split := c.String("split"); split {
	case "", "train", "val", "test":
	default:
		return usage(c, "--split: expected train, val or test, found %q", split)
	}
	var bar *progress
	d, err := task.Convert(c.Context, c.String("from"), c.String("to"), lra.ConvertOptions{
		Split: c.String("split"), NoVerify: c.Bool("no-verify"), Documents: c.String("docs"), Replace: c.Bool("force"),
		Begin:    func(bytes int64) { bar = newProgress(bytes, "converting "+task.Name, "bytes") },
		Progress: func(bytes int64) { bar.Add(bytes) },
	})
	if bar != nil {
		bar.Finish()
	}
	return reportDataset(c, d, err)
}

func reportDataset(c *cli.Context, d *seq.Dataset, err error) error {
	if errors.Is(err, seq.ErrExists) {
		return fmt.Errorf("%w (--force replaces it)", err)
	}
	if err != nil {
		return err
	}
	for _, name := range d.Manifest.SplitNames() {
		split := d.Manifest.Splits[name]
		path, err := d.Path(name)
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(c.App.Writer, "%s: %d rows of %d to %d tokens\n", path, split.Rows, split.Lengths.Min, split.Lengths.Max); err != nil {
			return err
		}
	}
	return nil
}

func noArguments(c *cli.Context) error {
	if c.Args().Present() {
		return usage(c, "expected flags only, found %q", c.Args().First())
	}
	return nil
}
