package main

import (
	"strings"
	"testing"

	"github.com/urfave/cli/v2"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/lra"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/sft/train"
)

// TestChosenPresets checks that a preset measured with train custom equals the configuration and the
// settings that train custom chooses for the same flags and a data set of the same size.
func TestChosenPresets(t *testing.T) {
	points := func(rows, points int64) seq.SplitInfo {
		return seq.SplitInfo{Rows: rows, Lengths: seq.Quantiles{Min: points, P25: points, P50: points, P75: points,
			P95: points, Max: points, Mean: float64(points)}}
	}
	measured := map[string]bool{}
	for _, c := range []struct {
		task, preset string
		train        seq.SplitInfo
		flags        string
	}{
		{"shapes", "quick", points(2000, 256), "--epochs 12 --point-rotation any --eval-every 500 --select accuracy"},
		{"shape-parts", "quick", points(2000, 256), "--epochs 12 --point-rotation any --eval-every 500"},
	} {
		task := must.Get(lra.Lookup(c.task))(t)
		preset := must.Get(task.Preset(c.preset))(t)
		measured[c.task] = true
		spec := must.Get(task.Spec())(t)
		m := &seq.Manifest{Task: spec.Task, LabelNames: spec.LabelNames, NumberNames: spec.NumberNames,
			FeatureNames: spec.FeatureNames, EdgeFeatureNames: spec.EdgeFeatureNames,
			Splits: map[string]seq.SplitInfo{"train": c.train}}
		config, settings := custom(t, m, append(strings.Fields(c.flags), "--patience", "0",
			"--temperature-scaling=false")...)
		settings.Select = storedSelection(settings.Select, task.Kind)
		equal(t, config, preset.Config, c.task, c.preset)
		equal(t, settings, preset.Settings, c.task, c.preset)
	}
	for _, task := range lra.Tasks() {
		for _, p := range task.Presets {
			if p.Measured != "" && !measured[task.Name] {
				t.Errorf("%s %s was measured, but has no test case", task.Name, p.Name)
			}
		}
	}
}

// custom returns the model configuration and the settings that train custom chooses for a data set.
func custom(t *testing.T, m *seq.Manifest, flags ...string) (config sft.Config, settings train.Settings) {
	t.Helper()
	command := trainCustomCommand()
	command.Action = func(c *cli.Context) error {
		p := lra.Custom(m).Presets[0]
		config, settings = p.Config, p.Settings
		return applyTrainFlags(c, m.Task, &settings, &config)
	}
	must.Succeed(t, (&cli.App{Commands: []*cli.Command{command}}).Run(append([]string{"sftseq",
		command.Name}, flags...)))
	return config, settings
}
