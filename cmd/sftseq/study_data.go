package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/urfave/cli/v2"

	"github.com/sftseq/sftseq/lra"
	"github.com/sftseq/sftseq/seq"
)

// studyData opens what --task asks for, and generates it first if that can be done.
func studyData(c *cli.Context) (*lra.Task, *lra.Preset, *trainData, error) {
	name := c.String("task")
	if name == lra.Shapes.Name || name == lra.CustomName {
		return customStudyData(c, name)
	}
	task, err := lra.Lookup(name)
	if err != nil {
		return nil, nil, nil, usage(c, "--task: %w, %s", err, lra.CustomName)
	}
	preset, err := task.Preset(c.String("preset"))
	if err != nil {
		return nil, nil, nil, usage(c, "--preset: %w", err)
	}
	data, err := trainingData(c, task, preset)
	return task, preset, data, err
}

// customStudyData opens a data set of the user's own, or clouds of --points: the settings are those of
// train custom, which does not turn clouds.
func customStudyData(c *cli.Context, name string) (*lra.Task, *lra.Preset, *trainData, error) {
	dir := c.String("data")
	if dir == "" && name == lra.CustomName {
		return nil, nil, nil, usage(c, "--data is missing: --task %s is of a data set of your own", name)
	}
	if dir == "" {
		var err error
		if dir, err = generatedShapes(c, c.Int("points")); err != nil {
			return nil, nil, nil, err
		}
	}
	if err := refuseTable(dir); err != nil {
		return nil, nil, nil, fmt.Errorf("--data %w", err)
	}
	set, err := seq.OpenDataset(dir)
	if err != nil {
		return nil, nil, nil, err
	}
	task := lra.Custom(set.Manifest)
	return task, task.Presets[0], &trainData{set, set.Fingerprint()}, nil
}

// generatedShapes is the directory of clouds of so many points, which are generated the
// first time.
func generatedShapes(c *cli.Context, points int) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("no cache directory for the data set (choose one with --data): %w", err)
	}
	dir := filepath.Join(cache, "sftseq", fmt.Sprintf("shapes-%d", points))
	o, rule := lra.Shapes.Presets[0].Data, lra.UsualShapes
	rule.Points, o.Rule = points, &rule
	if err := rule.Validate(); err != nil {
		return "", usage(c, "--points: %w", err)
	}
	_, err = makeOnce(c, lra.Shapes.Name, dir, o.Train+o.Val+o.Test, func(progress func(rows int64)) (*seq.Dataset, error) {
		o.Progress = progress
		return lra.Shapes.Generate(c.Context, dir, o)
	})
	if err != nil {
		return "", fmt.Errorf("generating %s in %s: %w", lra.Shapes.Name, dir, err)
	}
	return dir, nil
}
