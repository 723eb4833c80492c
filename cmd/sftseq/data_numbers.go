package main

import (
	"fmt"
	"strings"

	"github.com/sftseq/sftseq/seq"
)

// describeNumber formats the summary of a regression target.
func describeNumber(n seq.NumberSummary) string {
	return fmt.Sprintf("%s, %.6g to %.6g, mean %.6g, deviation "+
		"%.6g", countRows(n.Rows), n.Min, n.Max, n.Mean, n.Deviation)
}

// namedNumbers returns the numbers of a row by name, or nil if they are unknown.
func namedNumbers(spec *seq.Spec, e *seq.Example) map[string]float32 {
	if e.Numbers == nil {
		return nil
	}
	out := map[string]float32{}
	for i, v := range e.Numbers {
		out[spec.NumberNames[i]] = v
	}
	return out
}

// formatNumbers formats the numbers of a row.
func formatNumbers(names []string, numbers map[string]float32) string {
	if numbers == nil {
		return "numbers unknown"
	}
	var out []string
	for _, name := range names {
		out = append(out, fmt.Sprintf("%s %v", name, numbers[name]))
	}
	return strings.Join(out, ", ")
}
