package main

import (
	"fmt"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/sftseq/sftseq/internal/convert"
	"github.com/sftseq/sftseq/lra"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/sft/train"
)

func trainCustomCommand() *cli.Command {
	task := lra.Custom(&seq.Manifest{})
	return &cli.Command{
		Name: task.Name, Usage: "train on a data set of your own", Flags: trainFlags(task),
		UsageText: "sftseq train custom --data DIR [flags]\n\nExample: " + task.Import.Example +
			"\n         sftseq train custom --data data/reviews --out runs/reviews",
		Description: `Trains a linear model of n-grams (seconds) and a neural model (the rest of --time) on a data set
from sftseq data convert, and sums their logits with weights fitted on the validation split. For tags
and features it trains no linear model. The data determine the values of flags without a printed
default, such as --lr and --layers. More: docs/training.md`,
		Action: onAllRanks(trainCustom),
	}
}

// regressionFlags are the flags of regression models. Each sets a key of config.json.
var regressionFlags = []architectureFlag{
	{"regression-loss", "regression_loss",
		"set the loss of a standardised deviation d: smooth_l1 (linear beyond 1) or squared",
		trainingGroup + advancedSuffix, numbersKind},
}

// trainCustom trains on the user's data set.
func trainCustom(c *cli.Context) error {
	if err := readConfigFlags(c); err != nil { // the file may set --members
		return err
	}
	if err := setRecordedData(c); err != nil {
		return err
	}
	// The preset is checked before the first member is trained.
	if _, err := lra.Custom(&seq.Manifest{}).Preset(c.String("preset")); err != nil {
		return usage(c, "--%w", err)
	}
	m, err := manifestOf(c)
	if err != nil {
		return err
	}
	kinds, err := selectKinds(c, m)
	if err != nil {
		return err
	}
	if err := checkInitial(c, kinds); err != nil {
		return err
	}
	if m.NumberNames != nil && c.IsSet("class-weights") {
		return usage(c, "--class-weights: expected classes, found numbers to predict in %s", c.String("data"))
	}
	for _, f := range regressionFlags {
		if c.IsSet(f.name) && m.NumberNames == nil && c.String("data") != "" {
			return usage(c, "--%s: expected numbers to predict, found none in %s (data convert "+
				"--numbers)", f.name, c.String("data"))
		}
	}
	if m.Task == seq.Tagging && convert.MarkEnds(m.LabelNames) {
		fmt.Fprintf(c.App.ErrWriter,
			"warning: tags of %s mark the ends of spans (BIOES, BILOU), but spans are read as BIO: convert the data "+
				"again to convert the tags to BIO\n", c.String("data"))
	}
	warnClasses(c, m)
	if len(kinds) == 1 && kinds[0].linear {
		return ranksOf(c).runOnFirst(func() error { return trainLinear(c, lra.Custom(m)) })
	}
	if len(kinds) > 1 {
		return trainMembers(c, m, kinds)
	}
	return trainAlone(c, m, kinds[0])
}

// runFlagsOf returns the flags that determine other settings of a run. A flag of the step schedule
// selects that schedule.
func runFlagsOf(c *cli.Context) lra.RunFlags {
	f := lra.RunFlags{Batch: c.Int("batch"), Epochs: c.Int("epochs"), Steps: c.Int("steps")}
	if w, err := seq.ParseWindow(c.String("input-window")); err == nil { // applyTrainFlag reports an error
		f.InputWindow = w.Length
	}
	switch {
	case slices.Contains(train.Schedules, c.String("schedule")):
		f.Schedule = c.String("schedule")
	case c.IsSet("step-size") || c.IsSet("decay-rate"):
		f.Schedule = train.Schedules[0]
	}
	return f
}

// manifestOf returns the manifest of --data. Without the flag it returns an empty manifest, because
// a resumed run does not choose settings again.
func manifestOf(c *cli.Context) (*seq.Manifest, error) {
	dir := c.String("data")
	if dir == "" {
		return &seq.Manifest{}, nil
	}
	if err := refuseTable(dir); err != nil {
		return nil, fmt.Errorf("--data %w", err)
	}
	set, err := seq.OpenDataset(dir)
	if err != nil {
		return nil, err
	}
	return set.Manifest, nil
}

// describeCustom returns a line with the settings that were chosen for a run on the user's data set. It returns
// "" without training rows, because opening the split reports the error.
func describeCustom(m *seq.Manifest, config *sft.Config, settings *train.Settings) string {
	rows := m.Splits["train"]
	if rows.Rows == 0 {
		return ""
	}
	return fmt.Sprintf("%s of %s, half of them up to %d: %s", countRows(rows.Rows),
		describeLengths(rows.Lengths.Min, rows.Lengths.Max), rows.Lengths.P50, lra.DescribeRun(config, settings))
}
