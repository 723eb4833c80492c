package main

import (
	"fmt"

	"github.com/urfave/cli/v2"

	"sftseq/internal/baseline"
	"sftseq/seq"
)

// convertBaselines measures what simple models reach on a new data set, prints it and
// keeps it there.
func convertBaselines(c *cli.Context, set *seq.Dataset) error {
	splits := baseline.Splits(set.Manifest)
	if c.Bool("no-baselines") || len(splits) == 0 {
		return nil
	}
	var bar *progress // of training, which begins when the rows have been read
	results, err := baseline.Measure(c.Context, set, func(steps, all int64) {
		if bar == nil {
			bar = newProgress(all, "measuring simple models (--no-baselines leaves them out)", "steps")
		}
		bar.Add(steps)
	}, splits...)
	if bar != nil {
		bar.Finish()
	}
	if err == nil {
		err = baseline.Store(set, results)
	}
	if err != nil {
		return fmt.Errorf("the data set is complete, but its baselines were not measured: %w", err)
	}
	for i := range results {
		fmt.Fprintf(c.App.Writer, "baselines of %s: %s\n", results[i].Split, &results[i])
	}
	return nil
}
