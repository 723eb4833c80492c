package config

import (
	"fmt"

	"github.com/sftseq/sftseq/internal/metrics"
	"github.com/sftseq/sftseq/seq"
)

// tagging is the task of predicting one label for each token.
type tagging struct{ defaultTraits }

func (tagging) kind() Kind { return Tags }

func (tagging) describe(c *Config, s seq.Spec) error {
	switch {
	case s.Task != Tagging:
		return fmt.Errorf("the task of the data set is %s, expected %s (a label for each token)", s.Task, Tagging)
	case len(s.LabelNames) == 0:
		return ErrNoLabels
	}
	c.LabelNames, c.NumLabels = s.LabelNames, len(s.LabelNames)
	c.Numbers, c.RegressionLoss = nil, ""
	c.Masking = Masking{} // c may come from a model of masked tokens
	return nil
}

func (tagging) validate(c *Config) error { return classification{}.validate(c) }

func (tagging) check(c *Config, e seq.Example) error {
	switch {
	case e.Labels == nil:
		return fmt.Errorf("found no labels, expected one for each of the %d tokens", e.First())
	case len(e.Labels) != e.First():
		return fmt.Errorf("found %d labels, expected one for each of the %d tokens", len(e.Labels), e.First())
	}
	for i, label := range e.Labels {
		if label != seq.NoLabel && (label < 0 || int(label) >= c.NumLabels) {
			return fmt.Errorf("label %d of token %d, expected 0 to %d, or %d for none", label, i,
				c.NumLabels-1, seq.NoLabel)
		}
	}
	return nil
}

// TaggingLossOf returns the cross-entropy of the tags of an example, summed over the tokens that have
// a label.
func (c *Config) TaggingLossOf(logits []float32, e seq.Example) (loss float64) {
	for t, label := range e.Labels {
		if label != seq.NoLabel {
			loss += metrics.CrossEntropy(logits[t*c.NumLabels:(t+1)*c.NumLabels], int(label))
		}
	}
	return loss
}

func (tagging) headOperations(c *Config, _ int) float64 {
	return float64(c.HiddenSize) * float64(c.NumLabels)
}
