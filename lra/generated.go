package lra

import (
	"github.com/sftseq/sftseq/seq"
)

// GeneratedNames lists the names of the generated data sets of clouds and graphs.
var GeneratedNames = []string{Shapes.Name, GraphsName}

// Generated returns the task of [Custom] for the default data of a generator, without drawing the
// data, and the specification of their files. It returns nil for other names.
func Generated(name string) (*Task, seq.Spec) {
	var spec seq.Spec
	var rows, shortest, longest int
	switch name {
	case Shapes.Name:
		spec = seq.Spec{Task: Shapes.Kind, Name: Shapes.Name, LabelNames: Shapes.Labels, FeatureNames: Shapes.Features}
		rows, shortest, longest = Shapes.Presets[0].Data.Train, UsualShapes.Points, UsualShapes.Points
	case GraphsName:
		spec, rows, shortest, longest = graphsSpec(), UsualGraphs.Train, UsualGraphs.Nodes/2, UsualGraphs.Nodes
	default:
		return nil, spec
	}
	lengths := seq.Quantiles{Min: int64(shortest), P50: int64(shortest+longest) / 2, P95: int64(longest),
		Max: int64(longest), Mean: float64(shortest+longest) / 2}
	return Custom(described(spec, int64(rows), lengths)), spec
}
