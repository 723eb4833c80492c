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
