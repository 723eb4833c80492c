package main

import (
	"fmt"
	"slices"

	"github.com/sftseq/sftseq/seq"
)

// labelWeights returns the loss weights of positive labels for a multi-label task. If from is balanced,
// a weight is the ratio of rows without the label to rows with the label. Otherwise from is a JSON
// file, whose weights are not rescaled.
func labelWeights(from string, set *seq.Dataset) ([]float64, error) {
	names, train := set.Manifest.LabelNames, set.Manifest.Splits["train"]
	weights := make([]float64, len(names))
	if from != balanced {
		if err := readWeights(from, names, weights); err != nil {
			return nil, fmt.Errorf("--class-weights: %w", err)
		}
		if !slices.ContainsFunc(weights, func(w float64) bool { return w > 0 }) {
			return nil, fmt.Errorf("--class-weights %s: expected at least one weight above 0, "+
				"found only 0", from)
		}
		return weights, nil
	}
	rows := train.Rows - train.Labels[seq.Unlabelled]
	for i, name := range names {
		weights[i] = 1 // no row or every row has the label
		if n := train.Labels[name]; n > 0 && n < rows {
			weights[i] = float64(rows-n) / float64(n)
		}
	}
	return weights, nil
}
