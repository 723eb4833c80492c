package main

import (
	"fmt"

	"github.com/sftseq/sftseq/seq"
)

// namedLabels are the labels that hold of a row, by their names; nil where they are not known.
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

// writtenLabels is what a person reads of the labels of a row.
func writtenLabels(names []string) string {
	switch {
	case names == nil:
		return "labels unknown"
	case len(names) == 0:
		return "no label"
	}
	return "labels " + shortList(names, 20)
}

// writtenCount formats the number of labels of rows.
func writtenCount(labels int) string {
	if labels == 1 {
		return "1 label"
	}
	return fmt.Sprintf("%d labels", labels)
}
