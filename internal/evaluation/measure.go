package evaluation

import (
	"errors"
	"fmt"

	"github.com/sftseq/sftseq/internal/metrics"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
)

// Measure compares predictions with the targets of rows.
type Measure interface {
	// check returns an error if the targets of a row are missing or invalid. The row is not truncated yet.
	check(c *sft.Config, x *seq.Example) error
	// add counts a row that was truncated to the model's window. length is its length before
	// truncation.
	add(c *sft.Config, x *seq.Example, length int, logits []float32) error
}

// Classes measures predicted classes.
type Classes struct{ *metrics.Tally }

func (Classes) check(c *sft.Config, x *seq.Example) error {
	switch {
	case x.Label == seq.NoLabel:
		return errors.New("column label: expected a label, found none")
	case int(x.Label) >= c.NumLabels:
		return fmt.Errorf("column label: expected 0 to %d, found %d", c.NumLabels-1, x.Label)
	}
	return nil
}

func (m Classes) add(_ *sft.Config, x *seq.Example, length int, logits []float32) error {
	return m.Add(int(x.Label), logits, length)
}

// Labels measures predicted sets of labels.
type Labels struct{ *metrics.MultiLabel }

func (Labels) check(c *sft.Config, x *seq.Example) error {
	if err := c.CheckLabels(x.Labels); err != nil {
		return fmt.Errorf("column label: %w", err)
	}
	return nil
}

func (m Labels) add(_ *sft.Config, x *seq.Example, _ int, logits []float32) error {
	if err := checkFinite(logits); err != nil {
		return err
	}
	m.Add(logits, x.Labels)
	return nil
}

// Numbers measures predicted numbers.
type Numbers struct {
	*metrics.Regression
	Loss float64 // summed over rows and standardised numbers
}

func (*Numbers) check(_ *sft.Config, x *seq.Example) error {
	if x.Numbers == nil {
		return errors.New("column numbers: expected numbers, found none")
	}
	return nil
}

func (m *Numbers) add(c *sft.Config, x *seq.Example, _ int, logits []float32) error {
	if err := checkFinite(logits); err != nil {
		return err
	}
	m.Count(c, x.Numbers, logits)
	return nil
}

// Count adds a row with its true numbers and the model's logits.
func (m *Numbers) Count(c *sft.Config, numbers, logits []float32) {
	m.Loss += c.LossOfLogits(logits, seq.Example{Numbers: numbers})
	m.Add(c.Predictions(logits), numbers)
}

// Tags measures predicted tags of tokens.
type Tags struct {
	*metrics.Tagging
	Parts *metrics.Parts // nil unless tags are parts
	Rows  int
	Loss  float64 // sum over rows of losses that are rounded to float32, as in sharded evaluation
}

// NewTags returns a measure for the tags of a model. The tags are parts if tokens have features and
// all tag names have the form CATEGORY/PART.
func NewTags(c *sft.Config) *Tags {
	m := &Tags{Tagging: metrics.NewTagging(c.LabelNames, c.NumLabels)}
	if c.HasFeatures() {
		m.Parts = metrics.NewParts(c.LabelNames)
	}
	return m
}

func (*Tags) check(c *sft.Config, x *seq.Example) error {
	if x.Labels == nil {
		return errors.New("column label: expected a label for each token, found none")
	}
	for t, label := range x.Labels {
		if label != seq.NoLabel && int(label) >= c.NumLabels {
			return fmt.Errorf("column label: token %d: expected 0 to %d, found %d", t, c.NumLabels-1, label)
		}
	}
	return nil
}

func (m *Tags) add(c *sft.Config, x *seq.Example, _ int, logits []float32) error {
	if err := checkFinite(logits); err != nil {
		return err
	}
	m.Count(x.Labels, c.TagsOf(logits), m.Predict(x.Labels, logits), float32(c.TaggingLossOf(logits, *x)))
	return nil
}

// Predict returns the predictions restricted to the parts of a row's categories, or nil unless tags are
// parts.
func (m *Tags) Predict(labels []int32, logits []float32) []int32 {
	if m.Parts == nil {
		return nil
	}
	return m.Parts.Predict(labels, logits)
}

// Count adds a row with its labels, the predicted tags, the predictions restricted to the parts of its
// categories, and the loss.
func (m *Tags) Count(labels, tags, among []int32, loss float32) {
	m.Rows++
	m.Loss += float64(loss)
	m.Add(labels, tags)
	if m.Parts != nil {
		m.Parts.Add(labels, among)
	}
}

// checkFinite returns an error unless all logits are finite.
func checkFinite(logits []float32) error {
	for i, v := range logits {
		if v-v != 0 { // NaN or infinite
			return fmt.Errorf("the model's output is not finite: logit %d is %v", i, v)
		}
	}
	return nil
}
