package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/sftseq/sftseq/lra"
)

// generatedTasks returns the tasks whose data can be generated.
func generatedTasks() []*lra.Task {
	return slices.DeleteFunc(lra.Tasks(), func(t *lra.Task) bool { return t.Generator == nil })
}

func dataGenerateCommand() *cli.Command {
	out := &cli.Command{
		Name:      "generate",
		Usage:     "generate a synthetic data set",
		UsageText: "sftseq data generate TASK --out DIR [flags]\n\nExample: sftseq data generate listops --out data/listops",
	}
	for _, task := range generatedTasks() {
		out.Subcommands = append(out.Subcommands, generateCommand(task))
	}
	out.Subcommands = append(out.Subcommands, generateGraphsCommand())
	return out
}

// generateCommand returns the command that generates the data of a task. Its flags include the
// task's options. The default numbers of rows are those of the task's last preset.
func generateCommand(task *lra.Task) *cli.Command {
	published := task.Presets[len(task.Presets)-1].Data
	flags := generateFlags(published.Train, published.Val, published.Test)
	for _, o := range task.Generator.Rule().Options() {
		if o.On != nil {
			flags = append(flags, &cli.BoolFlag{Name: o.Name, Usage: o.Usage, Category: dataGroup})
			continue
		}
		flags = append(flags, &cli.IntFlag{Name: o.Name, Value: *o.Value, Usage: o.Usage, Category: dataGroup})
	}
	return &cli.Command{
		Name: task.Name, Usage: task.Generator.Usage, Description: task.Generator.Description, Flags: flags,
		UsageText: fmt.Sprintf("sftseq data generate %s --out DIR [flags]\n\nExample: %s",
			task.Name, task.Generator.Example),
		Action: func(c *cli.Context) error { return generate(c, task) },
	}
}

// generateFlags returns the flags that all generators share. The parameters train, val and test are
// the default numbers of rows.
func generateFlags(train, val, test int) []cli.Flag {
	return slices.Concat(
		group(dataGroup,
			&cli.IntFlag{Name: "train", Value: train, Usage: "generate `N` rows for training"},
			&cli.IntFlag{Name: "val", Value: val, Usage: "generate `N` rows for validation"},
			&cli.IntFlag{Name: "test", Value: test, Usage: "generate `N` rows for testing"},
			&cli.Uint64Flag{Name: "seed", Usage: "draw rows from seed `N` (default: 0)"}),
		group(outputGroup,
			&cli.StringFlag{Name: "out", Aliases: []string{"o"},
				Usage: "write the data set to `DIR` (required)", TakesFile: true},
			forceFlag(), noBaselinesFlag()))
}

// generate writes a data set of the task with the settings of the flags.
func generate(c *cli.Context, task *lra.Task) error {
	if err := noArguments(c); err != nil {
		return err
	}
	if err := requireFlags(c, "out"); err != nil {
		return err
	}
	for _, f := range c.Command.Flags {
		if f, ok := f.(*cli.IntFlag); ok && c.Int(f.Name) < 0 {
			return badFlag(c, f.Name, "0 or more")
		}
	}
	options := lra.GenerateOptions{Train: c.Int("train"), Val: c.Int("val"),
		Test: c.Int("test"), Seed: c.Uint64("seed"),
		Rule: task.Generator.Rule(), Replace: c.Bool("force")}
	var names []string
	for _, o := range options.Rule.Options() {
		if names = append(names, o.Name); o.On != nil {
			*o.On = c.Bool(o.Name)
			continue
		}
		*o.Value = c.Int(o.Name)
	}
	if err := options.Rule.Validate(); err != nil {
		return usage(c, "%s: %w", strings.TrimSpace(formatSetFlags(c, names...)), err)
	}
	bar := newProgress(int64(options.Train)+int64(options.Val)+int64(options.Test), "generating "+task.Name, "rows")
	options.Progress = bar.Add
	d, err := task.Generate(c.Context, c.String("out"), options)
	bar.Finish()
	if err := reportDataset(c, d, err); err != nil {
		return err
	}
	return addBaselines(c, d)
}
