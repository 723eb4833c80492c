// Package fusion converts the targets of each task's rows to the form that metrics.Fusion reads.
package fusion

import (
	"github.com/sftseq/sftseq/internal/metrics"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft/config"
)

// Kind returns the kind of output of a model that predicts a target for each row: labels, numbers or
// classes.
func Kind(c *config.Config) metrics.FusionKind {
	switch {
	case c.IsMultiLabel():
		return metrics.FusedLabels
	case c.IsRegression():
		return metrics.FusedNumbers
	}
	return metrics.FusedClasses
}

// Truth returns the target of a row: its class, its labels or its standardised numbers. It returns
// false if the row has no target.
func Truth(c *config.Config, e seq.Example) (metrics.Truth, bool) {
	switch Kind(c) {
	case metrics.FusedLabels:
		return metrics.Truth{Labels: e.Labels}, e.Labels != nil
	case metrics.FusedNumbers:
		var t metrics.Truth
		for _, v := range c.Standardised(e) {
			t.Numbers = append(t.Numbers, float64(v))
		}
		return t, e.Numbers != nil
	}
	return metrics.Truth{Labels: []int32{e.Label}}, e.Label != seq.NoLabel
}
