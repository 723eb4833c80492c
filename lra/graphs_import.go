package lra

import (
	"context"
	"slices"

	"github.com/sftseq/sftseq/internal/graphlines"
	"github.com/sftseq/sftseq/seq"
)

// graphFiles lists the splits and files of a directory of graphs.
var graphFiles = []splitFile{{"train", "train.jsonl"}, {"val", "val.jsonl"}, {"test", "test.jsonl"}}

// convertPeptides converts peptides, whose atoms and bonds have categorical features.
func convertPeptides(ctx context.Context, spec seq.Spec, from, dir string,
	options ConvertOptions) (*seq.Dataset, error) {
	return convertGraphs(ctx, graphlines.Known{Spec: spec, Nodes: atomCategories, Edges: bondCategories}, from, dir,
		options)
}

// convertVOC converts superpixels, whose features are numeric.
func convertVOC(ctx context.Context, spec seq.Spec, from, dir string, options ConvertOptions) (*seq.Dataset, error) {
	return convertGraphs(ctx, graphlines.Known{Spec: spec}, from, dir, options)
}

// convertGraphs converts a directory of JSON lines, or a single file as one split.
func convertGraphs(ctx context.Context, known graphlines.Known, from, dir string,
	options ConvertOptions) (*seq.Dataset, error) {
	known.RandomWalk = options.Walk
	known.Spec.FeatureNames = append(slices.Clip(known.Spec.FeatureNames), graphlines.WalkNames(options.Walk)...)
	known.Spec.IDs = true
	return convertFiles(known.Spec, from, dir, options, graphFiles, func(path string) rows {
		return rowsOf(func(row func(seq.Example) error) error { return known.Read(ctx, path, options.Progress, row) })
	})
}
