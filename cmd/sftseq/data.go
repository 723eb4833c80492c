package main

import (
	"errors"
	"fmt"

	"github.com/urfave/cli/v2"

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
		Subcommands: []*cli.Command{dataGenerateCommand(), dataConvertCommand(), dataInfoCommand(), dataHeadCommand(), dataStatsCommand()},
	}
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
