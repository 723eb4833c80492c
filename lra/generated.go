package lra

import (
	"github.com/sftseq/sftseq/seq"
)

// GeneratedNames are the data that are generated and are no task.
var GeneratedNames = []string{ShapesName, GraphsName}

// Generated is the task that [Custom] makes of such data, of usual rows, without drawing them; nil
// for other names. The specification is that of their files.
func Generated(name string) (*Task, seq.Spec) {
	var spec seq.Spec
	var rows, shortest, longest int
	switch name {
	case ShapesName:
		spec, rows, shortest, longest = shapesSpec(), UsualShapes.Train, UsualShapes.Points, UsualShapes.Points
	case GraphsName:
		spec, rows, shortest, longest = graphsSpec(), UsualGraphs.Train, UsualGraphs.Nodes/2, UsualGraphs.Nodes
	default:
		return nil, spec
	}
	lengths := seq.Quantiles{Min: int64(shortest), P50: int64(shortest+longest) / 2, P95: int64(longest), Max: int64(longest), Mean: float64(shortest+longest) / 2}
	return Custom(&seq.Manifest{Task: spec.Task, Name: spec.Name, LabelNames: spec.LabelNames, FeatureNames: spec.FeatureNames, EdgeFeatureNames: spec.EdgeFeatureNames,
		Splits: map[string]seq.SplitInfo{"train": {Rows: int64(rows), Lengths: lengths}}}), spec
}
