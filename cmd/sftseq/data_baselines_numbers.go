package main

import (
	"context"
	"fmt"
	"io"

	"github.com/urfave/cli/v2"

	"github.com/sftseq/sftseq/internal/baseline"
	"github.com/sftseq/sftseq/internal/metrics"
	"github.com/sftseq/sftseq/internal/task"
	"github.com/sftseq/sftseq/seq"
)

// printRegressionBaselines prints the errors of the regression baselines for each target of each split,
// except train and splits without known numbers. It returns an error if no split is left, or if the
// numbers of train are unknown.
func printRegressionBaselines(c *cli.Context, set *seq.Dataset) error {
	measured := 0
	for _, split := range set.Manifest.SplitNames() {
		if split == "train" || !hasTargets(set, "train") || !hasTargets(set, split) {
			continue
		}
		measured++
		mean, err := trainingMeanErrors(c.Context, set, split)
		if err != nil {
			return err
		}
		linear, err := baseline.Ridge(c.Context, set, split, seq.Window{})
		if err != nil {
			return err
		}
		for i, name := range set.Manifest.NumberNames {
			text := fmt.Sprintf("baselines of %s: number %s: %s %s", split, name, task.TrainingMean,
				formatErrors(mean[i]))
			if linear != nil {
				text += fmt.Sprintf("; %s %s", baseline.RidgeName(set.Manifest), formatErrors(linear[i]))
			}
			if _, err := fmt.Fprintln(c.App.Writer, text); err != nil {
				return err
			}
		}
	}
	if measured == 0 {
		return fmt.Errorf("%s: baselines need rows with numbers in train and in another split", set.Dir)
	}
	return nil
}

// hasTargets reports whether at least one row of a split has regression targets.
func hasTargets(set *seq.Dataset, split string) bool {
	targets := set.Manifest.Splits[split].Numbers
	return len(targets) == len(set.Manifest.NumberNames) && targets[0].Rows > 0
}

// trainingMeanErrors measures the baseline that always predicts the mean of the training split. It
// returns the errors on the given split, by target.
func trainingMeanErrors(ctx context.Context, set *seq.Dataset, split string) ([]metrics.NumberErrors, error) {
	var means []float32
	for _, n := range set.Manifest.Splits["train"].Numbers {
		means = append(means, float32(n.Mean))
	}
	in, err := set.Reader(split)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	out := metrics.NewRegression(len(means))
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		rows, err := in.Next()
		if err == io.EOF {
			return out.Numbers(), nil
		}
		if err != nil {
			return nil, err
		}
		for i := range rows.Len() {
			if x := rows.Example(i); x.Numbers != nil {
				out.Add(means, x.Numbers)
			}
		}
	}
}

// formatErrors formats a baseline's errors on one target.
func formatErrors(e metrics.NumberErrors) string {
	text := fmt.Sprintf("MAE %.6g, RMSE %.6g", e.MAE, e.RMSE)
	if e.Defined {
		text += fmt.Sprintf(", R² %.4f", e.R2)
	}
	return text
}
