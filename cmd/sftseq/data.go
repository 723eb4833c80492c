package main

import (
	"errors"
	"fmt"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/sftseq/sftseq/seq"
)

// dataCommand returns the command that makes and examines data sets.
func dataCommand() *cli.Command {
	return &cli.Command{
		Name:  "data",
		Usage: "generate, convert and examine data sets",
		UsageText: `sftseq data COMMAND [flags]

Example: sftseq data convert --from reviews.csv --to data/reviews --text review --label stars
         sftseq data info data/reviews`,
		Description: `A data set is a directory of Arrow files (train.arrow, val.arrow, test.arrow) and dataset.json, which
is written last: without it the data set is incomplete. More: docs/own-data.md`,
		Subcommands: []*cli.Command{dataGenerateCommand(), dataConvertCommand(), dataFilesCommand(),
			dataInfoCommand(), dataHeadCommand(), dataStatsCommand(), dataBaselinesCommand()},
	}
}

// reportDataset prints the path, the number of rows and the token lengths of each split of a new
// data set. If err is not nil, it returns err, and mentions --force if a data set exists.
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
		if _, err := fmt.Fprintf(c.App.Writer, "%s: %s of %s\n", path, countRows(split.Rows),
			describeLengths(split.Lengths.Min, split.Lengths.Max)); err != nil {
			return err
		}
	}
	return nil
}

// countRows formats a number of rows.
func countRows[N int | int64](n N) string { return countOf(n, "row") }

// countOf formats a number with a noun, which it puts into the plural unless the number is 1.
func countOf[N int | int64](n N, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// describeLengths formats a range of numbers of tokens.
func describeLengths[N int | int32 | int64](low, high N) string {
	switch {
	case low == high && low == 1:
		return "1 token"
	case low == high:
		return fmt.Sprintf("%d tokens", low)
	}
	return fmt.Sprintf("%d to %d tokens", low, high)
}

// noArguments returns an error if there are arguments. If the command has one of the flags --data, --input,
// --model and --out, the error suggests the first of them. With --resume, it explains that --resume has no
// value.
func noArguments(c *cli.Context) error {
	if !c.Args().Present() {
		return nil
	}
	advice := ""
	for _, name := range []string{"data", "input", "model", "out"} {
		if slices.ContainsFunc(c.Command.Flags, func(f cli.Flag) bool { return f.Names()[0] == name }) {
			advice = fmt.Sprintf(": pass the input with --%s", name)
			if name == "out" {
				advice = ": pass the output path with --out"
			}
			break
		}
	}
	if c.Bool("resume") {
		advice = ": --resume has no value: --out is the directory of the run"
	}
	return usage(c, "expected flags only, found %q%s", c.Args().First(), advice)
}
