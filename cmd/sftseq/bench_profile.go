package main

import (
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/sftseq/sftseq/internal/bench"
)

// printKernels prints the profile of a measurement as a table, if there is one. With --json it prints
// nothing, because the JSON of the measurement includes the profile.
func printKernels(c *cli.Context, r *bench.ModelResult) error {
	if c.Bool("json") || r.Kernels == nil {
		return nil
	}
	if _, err := fmt.Fprintf(c.App.Writer, "\n%s at length %d, batch %d:\n", r.What, r.Length, r.Batch); err != nil {
		return err
	}
	total := 0.0
	table := newResults(c, 1, bench.ProfileColumns...)
	for _, k := range r.Kernels {
		total += k.Seconds
		if err := table.add(k, k.Row()...); err != nil {
			return err
		}
	}
	return table.finish(fmt.Sprintf("%s in kernels; %s a run", bench.FormatSeconds(total),
		bench.FormatSeconds(r.Seconds)))
}
