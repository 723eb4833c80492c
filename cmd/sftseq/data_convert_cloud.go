package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/sftseq/sftseq/internal/cloud"
	"github.com/sftseq/sftseq/seq"
)

// convertCloudCommand returns the command that converts files of points or surfaces to point
// clouds.
func convertCloudCommand() *cli.Command {
	return &cli.Command{
		Name: "cloud", Usage: "convert folders of point clouds or meshes",
		UsageText: `sftseq data convert cloud --from DIR --to DIR [flags]

Example: sftseq data convert cloud --from ModelNet40 --to data/modelnet --points 1024
         sftseq data convert cloud --from shapenet --to data/shapenet --parts --points 2048`,
		Description: fmt.Sprintf(`Reads files %s in a folder for each class. Files below a folder train, val or test
belong to that split; other files are split at random. Points are sampled on surfaces, with normals;
clouds are reduced by farthest point sampling. Each cloud is centred and divided by its radius.
Files that cannot be used are left out and listed by reason.
More: docs/data-clouds-graphs.md`, strings.Join(cloud.Extensions(), ", ")),
		Flags: slices.Concat(
			group(inputGroup,
				&cli.StringFlag{Name: "from", Usage: "read `DIR` with a folder for each class (required)",
					TakesFile: true},
				&cli.IntFlag{Name: "points", Value: 1024, Usage: "sample `N` points of a cloud"}),
			advancedGroup(inputGroup,
				&cli.BoolFlag{Name: "farthest",
					Usage: "use farthest point sampling for surfaces, too: thin parts get more points"},
				&cli.IntFlag{Name: "min-files", Value: 1, Usage: "leave out classes of fewer than `N` files"},
				&cli.BoolFlag{Name: "strict", Usage: "stop at the first file that cannot be used"}),
			group(labelGroup,
				&cli.BoolFlag{Name: "parts",
					Usage: "predict the part of each point, the last number of its line, in place of classes"}),
			group(splitGroup,
				&cli.Float64Flag{Name: "val-part", Value: 0.1,
					Usage: "use `FRACTION` of the files outside split folders for validation, and of train if " +
						"val has no files"},
				&cli.Float64Flag{Name: "test-part", Value: 0.1,
					Usage: "use `FRACTION` of the files outside split folders for testing"},
				&cli.Uint64Flag{Name: "seed", Usage: "draw points and splits from seed `N`"}),
			outputFlags()),
		Action: convertCloud,
	}
}

func convertCloud(c *cli.Context) error {
	if err := noFlagsBefore(c); err != nil {
		return err
	}
	if err := noArguments(c); err != nil {
		return err
	}
	if err := requireFlags(c, "from", "to"); err != nil {
		return err
	}
	o := cloud.Options{Points: c.Int("points"), Parts: c.Bool("parts"),
		Farthest: c.Bool("farthest"), Seed: c.Uint64("seed"),
		ValPart: c.Float64("val-part"), TestPart: c.Float64("test-part"), Strict: c.Bool("strict"),
		Replace: c.Bool("force")}
	if err := o.Validate(); err != nil {
		return usage(c, "%w", err)
	}
	files, err := cloud.Find(c.String("from"))
	if err != nil {
		return err
	}
	if n := c.Int("min-files"); n < 1 {
		return badFlag(c, "min-files", "at least 1")
	}
	removed := files.ExcludeSmallClasses(c.Int("min-files"))
	if len(removed) > 0 {
		fmt.Fprintf(c.App.ErrWriter, "left out, with fewer than %d files: %s\n",
			c.Int("min-files"), shortList(removed, 20))
	}
	unassigned, training := files.MissingSplits()
	switch {
	case len(removed) > 0 && len(files.Classes) == 0:
		return fmt.Errorf("%s: expected at least one class with %d files or more, found "+
			"none", c.String("from"), c.Int("min-files"))
	case c.IsSet("test-part") && !unassigned:
		return usage(c, "--test-part: the folders of %s assign every file to a split, so no files are left to "+
			"sample", c.String("from"))
	case c.IsSet("val-part") && !unassigned && !training:
		return usage(c, "--val-part: the folders of %s assign every file to a split, and have a validation split or "+
			"no training split, so no files are left to sample", c.String("from"))
	}
	var bar *progress
	o.Begin = func(total int64) { bar = newProgress(total, "converting "+c.String("from"), "files") }
	o.Progress = func(done int64) { bar.Add(done) }
	d, skipped, err := cloud.Convert(c.Context, files, c.String("to"), o)
	bar.Finish()
	if err == nil {
		fmt.Fprint(c.App.ErrWriter, skipped)
	}
	if err := reportDataset(c, d, err); err != nil {
		return err
	}
	names := d.Manifest.LabelNames
	if _, err := fmt.Fprintf(c.App.Writer, "labels: %s\n", shortList(names, 20)); err != nil {
		return err
	}
	warnClouds(c, d.Manifest, files.Classes, unassigned)
	warnClasses(c, d.Manifest)
	return addBaselines(c, d)
}

// warnClouds warns of folders without rows, a single class and empty splits. unassigned reports
// whether there are files outside split folders. With --val-part 0 and --test-part 0, these files are
// rows for predict. Since predict needs no splits and no classes, warnClouds then warns only of folders.
func warnClouds(c *cli.Context, m *seq.Manifest, folders []string, unassigned bool) {
	warn := func(format string, args ...any) {
		fmt.Fprintf(c.App.ErrWriter, "warning: "+format+"\n", args...)
	}
	if m.Task == seq.Classification {
		unused := slices.DeleteFunc(slices.Clone(folders),
			func(name string) bool { return slices.Contains(m.LabelNames, name) })
		if len(unused) > 0 {
			warn("no file of %d of %d folders could be converted, so these folders are not classes: %s", len(unused),
				len(folders), shortList(unused, 20))
		}
	}
	if unassigned && c.Float64("val-part") == 0 && c.Float64("test-part") == 0 {
		return
	}
	filled := slices.DeleteFunc(m.SplitNames(), func(split string) bool { return m.Splits[split].Rows == 0 })
	// warnClasses handles data sets with several non-empty splits.
	if len(m.LabelNames) == 1 && len(folders) == 1 && len(filled) == 1 {
		warn("the only class is %s, so train has nothing to learn: expected a folder for each class in %s",
			m.LabelNames[0], c.String("from"))
	}
	for _, split := range []string{"train", "val", "test"} {
		remedy := "add files, or change --" + split + "-part or --seed"
		switch {
		case m.Splits[split].Rows > 0 || split != "train" && c.Float64(split+"-part") == 0 ||
			split == "test" && !unassigned:
			continue
		case split == "train":
			remedy = "add files, or change --val-part, --test-part or --seed"
		}
		needs := map[string]string{"train": "so models cannot learn", "val": "and train needs it",
			"test": "and eval needs it"}[split]
		warn("the split %s is empty, %s: %s", split, needs, remedy)
	}
}

// noFlagsBefore returns an error for flags before a subcommand's name, because they would belong to
// the parent command and be ignored.
func noFlagsBefore(c *cli.Context) error {
	for _, parent := range c.Lineage()[1:] {
		if parent.Command == nil {
			continue
		}
		if names := parent.LocalFlagNames(); len(names) > 0 && parent.Command != c.Command {
			return usage(c, "--%s: expected flags after %s, found this flag before it",
				names[0], c.Command.Name)
		}
	}
	return nil
}
