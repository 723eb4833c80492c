package main

import (
	"strings"
	"testing"

	"github.com/urfave/cli/v2"

	"github.com/sftseq/sftseq/lra"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
)

// TestChosenPresets: presets of tasks whose settings were measured as those of train custom are these, with
// the flags of the measurement, on data of as many rows and tokens.
func TestChosenPresets(t *testing.T) {
	points := func(rows, points int64) seq.SplitInfo {
		return seq.SplitInfo{Rows: rows, Lengths: seq.Quantiles{Min: points, P25: points, P50: points, P75: points, P95: points, Max: points, Mean: float64(points)}}
	}
	components := "--layers 1 --heads 16 --epochs 18 --point-scale 0.8:1.25 --point-shift 0.02 --weight-decay 0.1 --drop-token 0.3 --attention-dropout 0.2 --embedding-dropout 0.2 --feed-forward-dropout 0.3"
	molecules := seq.SplitInfo{Rows: 4051, Lengths: seq.Quantiles{Min: 2, P25: 11, P50: 15, P75: 20, P95: 31, Max: 122, Mean: 16.571957541347814}}
	superpixels := seq.SplitInfo{Rows: 10000, Lengths: seq.Quantiles{Min: 28, P25: 36, P50: 37, P75: 38, P95: 41, Max: 53, Mean: 37.1283}}
	measured := map[string]bool{}
	for _, c := range []struct {
		task, preset string
		train        seq.SplitInfo
		flags        string
	}{
		{"shapes", "quick", points(2000, 256), "--epochs 12 --point-rotation any"},
		{"shape-parts", "quick", points(2000, 256), "--epochs 12 --point-rotation any"},
		{"components", "quick", points(1886, 512), components},
		{"components", "hour", points(1886, 512), "--hidden 128 --intermediate 256 " + components},
		{"component-parts", "quick", points(4524, 256), "--epochs 2"},
		{"component-parts", "hour", points(4524, 256), "--epochs 12"},
		{"molecules", "quick", molecules, "--epochs 30 --select mae"},
		{"molecules", "hour", molecules, "--epochs 100 --select mae"},
		{"superpixels", "quick", superpixels, "--epochs 5"},
		{"superpixels", "hour", superpixels, ""},
	} {
		task, err := lra.Lookup(c.task)
		noError(t, err)
		preset, err := task.Preset(c.preset)
		noError(t, err)
		measured[c.task] = true
		spec, err := task.Spec()
		noError(t, err)
		m := &seq.Manifest{Task: spec.Task, LabelNames: spec.LabelNames, NumberNames: spec.NumberNames, FeatureNames: spec.FeatureNames, EdgeFeatureNames: spec.EdgeFeatureNames,
			Splits: map[string]seq.SplitInfo{"train": c.train}}
		config, settings := custom(t, m, strings.Fields(c.flags)...)
		equal(t, config, preset.Config, c.task, c.preset)
		equal(t, settings, preset.Settings, c.task, c.preset)
	}
	for _, task := range lra.Tasks() {
		for _, p := range task.Presets {
			if p.Measured != "" && !measured[task.Name] {
				t.Errorf("%s %s: measured, and not compared here", task.Name, p.Name)
			}
		}
	}
}

// custom are a model and settings that train custom makes of data, with flags.
func custom(t *testing.T, m *seq.Manifest, flags ...string) (config sft.Config, settings sft.Settings) {
	t.Helper()
	command := trainCustomCommand()
	command.Action = func(c *cli.Context) error {
		p := lra.Custom(m).Presets[0]
		config, settings = p.Config, p.Settings
		return applyTrainFlags(c, &settings, &config)
	}
	noError(t, (&cli.App{Commands: []*cli.Command{command}}).Run(append([]string{"sftseq", command.Name}, flags...)))
	return config, settings
}
