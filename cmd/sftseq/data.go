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
