package lra

import (
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/sft/train"
)

// chosen returns a preset of a task with the settings that [Custom] chooses for the data. The
// function change then sets some of them to values that were measured. The manifest describes the
// task's data.
func chosen(data *seq.Manifest, name, description string, change func(*sft.Config, *train.Settings)) *Preset {
	p := customPreset(data, RunFlags{})
	p.Name, p.Description = name, description
	change(&p.Config, &p.Settings)
	return p
}

// clouds returns the manifest of a data set with the given number of training clouds, all with the
// same number of points.
func clouds(rows, points int64) *seq.Manifest {
	return described(seq.Spec{Task: seq.Classification, FeatureNames: seq.PositionNames}, rows,
		seq.Quantiles{P50: points, P95: points, Mean: float64(points)})
}

// described returns the manifest of a data set with the given specification and number of training
// rows.
func described(s seq.Spec, rows int64, lengths seq.Quantiles) *seq.Manifest {
	return &seq.Manifest{Task: s.Task, Name: s.Name, LabelNames: s.LabelNames, NumberNames: s.NumberNames,
		FeatureNames: s.FeatureNames, EdgeFeatureNames: s.EdgeFeatureNames,
		Splits: map[string]seq.SplitInfo{"train": {Rows: rows, Lengths: lengths}}}
}
