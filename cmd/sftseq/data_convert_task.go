package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/sftseq/sftseq/internal/cloud"
	"github.com/sftseq/sftseq/lra"
	"github.com/sftseq/sftseq/seq"
)

// importedTasks returns the tasks with official data files.
func importedTasks() []*lra.Task {
	return slices.DeleteFunc(lra.Tasks(), func(t *lra.Task) bool { return t.Import == nil })
}

// namesOf joins the names of tasks.
func namesOf(tasks []*lra.Task) string {
	var names []string
	for _, task := range tasks {
		names = append(names, task.Name)
	}
	return strings.Join(names, ", ")
}

// convertTaskCommand returns the command that converts a task's official files to a data set.
func convertTaskCommand(task *lra.Task) *cli.Command {
	importer, from := task.Import, "FILE|DIR"
	fromUsage := "read `FILE`, or the directory of all files (required)"
	if importer.Points > 0 {
		from, fromUsage = "DIR", "read the shapes in `DIR` (required)"
	}
	flags := slices.Concat(
		group(inputGroup, &cli.StringFlag{Name: "from", Usage: fromUsage, TakesFile: true}),
		flagsIf(importer.Points > 0, group(inputGroup,
			&cli.IntFlag{Name: "points", Usage: "sample `N` points of a cloud", Value: importer.Points})),
		flagsIf(importer.Points == 0, group(inputGroup,
			&cli.StringFlag{Name: "split", Usage: "write split `NAME` from a single file: train, val or test",
				DefaultText: "test"})),
		flagsIf(importer.Verifies, group(inputGroup,
			&cli.BoolFlag{Name: "no-verify", Usage: "accept labels without checking them"})),
		flagsIf(importer.Documents, group(inputGroup,
			&cli.StringFlag{Name: "docs", Usage: "read the texts of ids from `FILE`, a directory or an archive",
				DefaultText: "docs.tsv beside the pairs", TakesFile: true})),
		flagsIf(importer.Seeded, group(inputGroup,
			&cli.Uint64Flag{Name: "seed", Usage: "draw points from seed `N` (default: 0)"})),
		flagsIf(importer.Walks, group(inputGroup, randomWalkFlag())),
		outputFlags())
	return &cli.Command{
		Name: task.Name, Usage: importer.Usage, Description: importer.Description, Flags: flags,
		UsageText: fmt.Sprintf("sftseq data convert %s --from %s --to DIR [flags]\n\nExample: %s",
			task.Name, from, importer.Example),
		Action: func(c *cli.Context) error { return convertTask(c, task) },
	}
}

func convertTask(c *cli.Context, task *lra.Task) error {
	if err := noFlagsBefore(c); err != nil {
		return err
	}
	if c.Args().Present() {
		return usage(c, "expected flags only, found %q: pass the input with --from", c.Args().First())
	}
	if err := requireFlags(c, "from", "to"); err != nil {
		return err
	}
	split := ""
	if task.Import.Points > 0 {
		if err := cloud.CheckPoints(c.Int("points")); err != nil {
			return invalidFlag(c, "points", err)
		}
	} else if split = c.String("split"); !slices.Contains([]string{"", "train", "val", "test"}, split) {
		return badFlag(c, "split", "train, val or test")
	}
	if err := checkSteps(c); err != nil {
		return err
	}
	unit := cmp.Or(task.Import.Unit, unitBytes)
	var bar *progress
	skipped := ""
	d, err := task.Convert(c.Context, c.String("from"), c.String("to"), lra.ConvertOptions{
		Split: split, NoVerify: c.Bool("no-verify"), Documents: c.String("docs"), Points: c.Int("points"),
		Walk: c.Int("random-walk"), Seed: c.Uint64("seed"), Replace: c.Bool("force"),
		Begin:    func(total int64) { bar = newProgress(total, "converting "+task.Name, unit) },
		Progress: func(done int64) { bar.Add(done) },
		LeftOut:  func(text string) { skipped = text },
	})
	bar.Finish()
	if err == nil {
		fmt.Fprint(c.App.ErrWriter, skipped)
	}
	return reportTask(c, task, d, err)
}

// reportTask prints a summary of a task's new data set and warnings about it, and measures its baselines.
// If err is not nil, reportTask returns err as [reportDataset] does.
func reportTask(c *cli.Context, task *lra.Task, d *seq.Dataset, err error) error {
	if err := reportDataset(c, d, err); err != nil {
		return err
	}
	printWarnings(c, append(task.Differences(d.Manifest), absentWarnings(d.Manifest, nil)...))
	return addBaselines(c, d)
}
