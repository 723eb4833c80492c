package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/sftseq/sftseq/internal/baseline"
	"github.com/sftseq/sftseq/seq"
)

func dataBaselinesCommand() *cli.Command {
	return &cli.Command{
		Name:      "baselines",
		Usage:     "measure the baselines of a data set",
		UsageText: "sftseq data baselines --data DIR\n\nExample: sftseq data baselines --data data/reviews",
		Description: `Trains baselines on the training split and stores their scores on the other splits, as data convert
and data generate do unless --no-baselines is given. Training, eval and reports show these scores
beside the model's scores. Scores of regression baselines are printed, not stored.
More: docs/own-data.md`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "data", Usage: "measure on the data set in `DIR` (required)", TakesFile: true},
		},
		Action: dataBaselines,
	}
}

func dataBaselines(c *cli.Context) error {
	if err := noArguments(c); err != nil {
		return err
	}
	if err := requireFlags(c, "data"); err != nil {
		return err
	}
	dir := c.String("data")
	if err := refuseTable(dir); err != nil {
		return fmt.Errorf("--data %w", err)
	}
	set, err := seq.OpenDataset(dir)
	if err != nil {
		return err
	}
	if spec := set.Spec(); spec.ListsLabels() {
		return fmt.Errorf("%s: baselines need one label per row, found lists of labels (task "+
			"%s)", dir, set.Manifest.Task)
	}
	if set.Manifest.NumberNames != nil {
		return printRegressionBaselines(c, set)
	}
	if len(baseline.Splits(set.Manifest)) == 0 {
		if set.Manifest.LabelNames == nil {
			return fmt.Errorf("%s: expected labels, which baselines predict, found none (data convert --label)", dir)
		}
		return fmt.Errorf("%s: expected rows in train and in another split (data convert --split)", dir)
	}
	results, err := storeBaselines(c, set, "")
	if err != nil {
		return err
	}
	return printBaselines(c, results)
}

// noBaselinesFlag returns the flag --no-baselines, which commands that write a data set have.
func noBaselinesFlag() cli.Flag {
	return &cli.BoolFlag{Name: "no-baselines", Usage: "skip the baselines, which take seconds (images: minutes)"}
}

// addBaselines measures, prints and stores the baselines of a new data set, unless --no-baselines
// is set.
func addBaselines(c *cli.Context, set *seq.Dataset) error {
	if c.Bool("no-baselines") {
		return nil
	}
	results, err := storeBaselines(c, set, " (--no-baselines leaves them out)")
	if errors.Is(err, context.Canceled) && c.Context.Err() != nil { // run omits the text of errors that wrap Canceled
		return fmt.Errorf("interrupted: the data set is complete, only its baselines are missing; measure them with:\n"+
			"  sftseq data baselines --data %s", shellQuote(set.Dir))
	}
	if err != nil {
		return fmt.Errorf("the data set is complete, but its baselines were not measured: %w", err)
	}
	return printBaselines(c, results)
}

// storeBaselines measures the baselines on all splits with rows except train, and stores the results. It
// returns nil if there is no such split, if train is empty, or if the task does not have one class per row.
func storeBaselines(c *cli.Context, set *seq.Dataset, hint string) ([]baseline.Result, error) {
	splits := baseline.Splits(set.Manifest)
	if len(splits) == 0 {
		return nil, nil
	}
	results, err := measureBaselines(c, set, hint, splits...)
	if err == nil {
		err = baseline.Store(set, results)
	}
	return results, err
}

// noBaselinesShown is the consequence of an unreadable baselines file for commands that show
// baselines but do not measure them.
const noBaselinesShown = "no baselines are shown beside the accuracy"

// storedBaseline returns the stored baselines of a split, or nil. If the file is unreadable, it
// prints a warning with the consequence.
func storedBaseline(c *cli.Context, set *seq.Dataset, split, consequence string) *baseline.Result {
	r, err := baseline.Stored(set, split)
	if err != nil {
		fmt.Fprintf(c.App.ErrWriter, "warning: %v; %s (recreate the file with sftseq data baselines --data %s)\n", err,
			consequence, shellQuote(set.Dir))
	}
	return r
}

// baselineOf returns the stored baselines of a split, or measures them.
func baselineOf(c *cli.Context, set *seq.Dataset, split string) (*baseline.Result, error) {
	if r := storedBaseline(c, set, split, "baselines are measured again"); r != nil {
		return r, nil
	}
	out, err := measureBaselines(c, set, "", split)
	if err != nil {
		return nil, err
	}
	return &out[0], nil
}

// measureBaselines measures baselines with a progress bar. hint is shown beside the bar.
func measureBaselines(c *cli.Context, set *seq.Dataset, hint string, splits ...string) ([]baseline.Result, error) {
	var bar *progress
	results, err := baseline.Measure(c.Context, set, func(rows int64) {
		if bar == nil {
			bar = newProgress(0, "measuring baselines"+hint, "rows")
		}
		bar.Add(rows)
	}, splits...)
	bar.Finish()
	return results, err
}

func printBaselines(c *cli.Context, results []baseline.Result) error {
	for i := range results {
		if _, err := fmt.Fprintf(c.App.Writer, "baselines of %s: %s\n", results[i].Split, &results[i]); err != nil {
			return err
		}
	}
	return nil
}
