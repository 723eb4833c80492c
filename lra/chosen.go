package lra

import (
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
)

// chosen is a preset of a task whose settings were measured as those that [Custom] chooses for its
// data, with some of them changed by flags. The data are described, as the task has none by itself.
func chosen(data *seq.Manifest, name, description string, change func(*sft.Config, *sft.Settings)) *Preset {
	p := customPreset(data, RunFlags{})
	p.Name, p.Description = name, description
	change(&p.Config, &p.Settings)
	return p
}

// clouds describes data of so many clouds for training, all of so many points.
func clouds(rows, points int64) *seq.Manifest {
	return described(seq.Spec{Task: seq.Classification, FeatureNames: seq.PositionNames}, rows,
		seq.Quantiles{P50: points, P95: points, Mean: float64(points)})
}

// described are data of a specification, of which so many rows are for training.
func described(s seq.Spec, rows int64, lengths seq.Quantiles) *seq.Manifest {
	return &seq.Manifest{Task: s.Task, Name: s.Name, LabelNames: s.LabelNames, NumberNames: s.NumberNames,
		FeatureNames: s.FeatureNames, EdgeFeatureNames: s.EdgeFeatureNames,
		Splits: map[string]seq.SplitInfo{"train": {Rows: rows, Lengths: lengths}}}
}
