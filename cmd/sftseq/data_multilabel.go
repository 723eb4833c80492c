package main

import (
	"github.com/sftseq/sftseq/seq"
)

// namedLabels returns the names of a row's positive labels, or nil if they are unknown.
func namedLabels(spec *seq.Spec, e *seq.Example) []string {
	if e.Labels == nil {
		return nil
	}
	out := []string{}
	for _, label := range e.Labels {
		out = append(out, seq.LabelName(spec.LabelNames, label))
	}
	return out
}

// formatLabels formats the labels of a row.
func formatLabels(names []string) string {
	switch {
	case names == nil:
		return "labels unknown"
	case len(names) == 0:
		return "no label"
	}
	return "labels " + shortList(names, 20)
}

// formatLabelCount formats a number of labels.
func formatLabelCount(labels int) string { return countOf(labels, "label") }
