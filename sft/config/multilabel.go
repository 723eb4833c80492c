package config

import (
	"fmt"

	"github.com/sftseq/sftseq/internal/metrics"
	"github.com/sftseq/sftseq/seq"
)

// multiLabel is the task of predicting any number of labels for a sequence.
type multiLabel struct{ defaultTraits }

func (multiLabel) kind() Kind { return Labels }

func (multiLabel) loss() Loss { return BinaryCrossEntropy }

// targets returns 1 for each label of the example, otherwise 0.
func (multiLabel) targets(c *Config, e seq.Example) []float32 {
	out := make([]float32, c.NumLabels)
	for _, label := range e.Labels {
		out[label] = 1
	}
	return out
}

func (multiLabel) describe(c *Config, s seq.Spec) error {
	if s.Task != MultiLabel {
		return &Error{"task", c.Task, s.Task + ", the task of the data set"}
	}
	return classification{}.describe(c, s)
}

func (multiLabel) validate(c *Config) error {
	if n := len(c.Thresholds); c.Thresholds != nil && n != c.NumLabels {
		return &Error{"thresholds", fmt.Sprintf("%d thresholds", n), fmt.Sprintf("num_labels %d", c.NumLabels)}
	}
	for i, threshold := range c.Thresholds {
		if !(threshold >= 0 && threshold <= 1) {
			return &Error{fmt.Sprintf("thresholds[%d]", i), fmt.Sprint(threshold), "a probability from 0 to 1"}
		}
	}
	return classification{}.validate(c)
}

func (multiLabel) check(c *Config, e seq.Example) error { return c.CheckLabels(e.Labels) }

// CheckLabels returns an error for invalid labels of a multi-label row.
func (c *Config) CheckLabels(labels []int32) error {
	if labels == nil {
		return fmt.Errorf("found no labels, expected the list of the row's labels, which may be empty")
	}
	for i, label := range labels {
		if label < 0 || int(label) >= c.NumLabels {
			return fmt.Errorf("label %d, expected 0 to %d", label, c.NumLabels-1)
		}
		if i > 0 && label <= labels[i-1] {
			return fmt.Errorf("label %d after %d, expected distinct labels in ascending order", label, labels[i-1])
		}
	}
	return nil
}

// Threshold returns the minimum probability with which a multi-label model predicts a label.
func (c *Config) Threshold(label int) float64 {
	if len(c.Thresholds) == 0 {
		return metrics.DefaultThreshold
	}
	return c.Thresholds[label]
}

// PredictedLabels returns the labels that a multi-label model predicts from logits, ascending, and
// the probability of every label.
func (c *Config) PredictedLabels(logits []float32) (labels []int32, probabilities []float32) {
	labels, probabilities = []int32{}, make([]float32, len(logits))
	for i, z := range logits {
		probabilities[i] = metrics.Sigmoid(z)
		if float64(probabilities[i]) >= c.Threshold(i) {
			labels = append(labels, int32(i))
		}
	}
	return labels, probabilities
}
