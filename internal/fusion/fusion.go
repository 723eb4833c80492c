// Package fusion converts the labels of each task's rows to the targets of metrics.Fusion.
package fusion

import (
	"github.com/sftseq/sftseq/internal/metrics"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft/config"
)

// Kind returns the kind of outputs of a model that predicts whole rows.
func Kind(c *config.Config) metrics.FusionKind {
	switch {
	case c.IsMultiLabel():
		return metrics.FusedLabels
	case c.IsRegression():
		return metrics.FusedNumbers
	}
	return metrics.FusedClasses
}

// Truth returns the class, the labels or the standardised numbers of a row. It returns false if the
// row has none.
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
