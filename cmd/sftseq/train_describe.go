package main

import (
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/sftseq/sftseq/lra"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/sft/train"
)

// describeRun sets the configuration and the class weights that depend on the data, and checks that the
// data fit the task.
func describeRun(c *cli.Context, task *lra.Task, config *sft.Config, settings *train.Settings, set *seq.Dataset) error {
	if err := checkTask(c, task, set); err != nil {
		return err
	}
	if err := learnMaskTargets(c, config, set); err != nil {
		return err
	}
	if err := modelUsage(c, describeData(config, set)); err != nil {
		return err
	}
	if err := relationFlags(c, config); err != nil {
		return err
	}
	weights, err := classWeights(c, set)
	if err == nil && weights != nil {
		settings.ClassWeights = weights
		fmt.Fprintln(c.App.ErrWriter, describeWeights(config.LabelNames, weights))
	}
	return err
}

// describePresets lists the presets of a task and their results.
func describePresets(task *lra.Task) string {
	var rows [][2]string
	for _, p := range task.Presets {
		text := p.Description
		switch r := p.Result; {
		case r != nil:
			text += fmt.Sprintf(": %.2f%% (%s: %.2f%%), %d min", r.Accuracy, r.Baseline, r.BaselineAccuracy, r.Minutes)
		case p.Measured != "":
			text += ": " + p.Measured
		default:
			text += " (not trained yet)"
		}
		rows = append(rows, [2]string{p.Name, text})
	}
	data := "docs/own-data.md"
	switch {
	case task == lra.Files:
		data = "docs/files.md"
	case task.Features != nil:
		data = "docs/data-clouds-graphs.md"
	}
	return "Presets: test accuracy (a baseline's in parentheses), time on 2 cores. Flags override settings.\n" +
		definitions(rows) +
		"More: docs/training.md, docs/results.md, " + data
}
