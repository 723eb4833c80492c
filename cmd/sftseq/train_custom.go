package main

import (
	"fmt"

	"github.com/urfave/cli/v2"

	"sftseq/lra"
	"sftseq/seq"
)

func trainCustomCommand() *cli.Command {
	task := lra.Custom(&seq.Manifest{})
	return &cli.Command{
		Name: task.Name, Usage: task.Description, Flags: trainFlags("runs/" + task.Name),
		UsageText: "sftseq train custom --data DIR [flags]\n\nExample: " + task.Import.Example + "\n         sftseq train custom --data data/reviews --out runs/reviews",
		Description: `Trains on a data set that sftseq data convert has made of your own tables. Model, batch
and number of epochs are chosen from its rows and their lengths, and shown; every flag
replaces one of them.`,
		Action: trainCustom,
	}
}

// trainCustom trains on a data set of the user's own.
func trainCustom(c *cli.Context) error {
	m := &seq.Manifest{} // of a resumed run nothing is chosen any more
	if dir := c.String("data"); dir != "" {
		set, err := seq.OpenDataset(dir)
		if err != nil {
			return err
		}
		m = set.Manifest
	}
	task := lra.Custom(m)
	if train := m.Splits["train"]; train.Rows > 0 && !c.Bool("resume") {
		fmt.Fprintf(c.App.ErrWriter, "%d rows of %d to %d tokens, half of them up to %d: %s\n", train.Rows, train.Lengths.Min, train.Lengths.Max, train.Lengths.P50, task.Presets[0].Description)
	}
	return train(c, task)
}
