package evaluation

import (
	"errors"
	"fmt"

	"github.com/sftseq/sftseq/internal/metrics"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
)

// Measure compares answers of a kind with what rows have.
type Measure interface {
	// check reports what a row lacks that is to be measured, all of whose tokens are there.
	check(c *sft.Config, x *seq.Example) error
	// add counts a row, cut to what the model reads, which had the length.
	add(c *sft.Config, x *seq.Example, length int, logits []float32) error
}

// Classes measures the class of rows.
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

// Labels measures the labels that hold of rows, any number of them.
type Labels struct{ *metrics.MultiLabel }

func (Labels) check(c *sft.Config, x *seq.Example) error {
	if err := c.CheckLabels(x.Labels); err != nil {
		return fmt.Errorf("column label: %w", err)
	}
	return nil
}

func (m Labels) add(_ *sft.Config, x *seq.Example, _ int, logits []float32) error {
	if err := finite(logits); err != nil {
		return err
	}
	m.Add(logits, x.Labels)
	return nil
}

// Numbers measures the numbers of rows.
type Numbers struct {
	*metrics.Regression
	Loss float64 // summed over rows and numbers, which are standardised
}

func (*Numbers) check(_ *sft.Config, x *seq.Example) error {
	if x.Numbers == nil {
		return errors.New("column numbers: expected numbers, found none")
	}
	return nil
}

func (m *Numbers) add(c *sft.Config, x *seq.Example, _ int, logits []float32) error {
	if err := finite(logits); err != nil {
		return err
	}
	m.Count(c, x.Numbers, logits)
	return nil
}

// Count counts a row: its numbers, and the logits of a model.
func (m *Numbers) Count(c *sft.Config, numbers, logits []float32) {
	m.Loss += c.RegressionLossOf(logits, seq.Example{Numbers: numbers})
	m.Add(c.Predictions(logits), numbers)
}

// Tags measures the tags of the tokens of rows.
type Tags struct {
	*metrics.Tagging
	Parts *metrics.Parts // nil where tags are none
	Rows  int
	Loss  float64 // summed over rows, of each in float32, as the parts of shards have it
}

// NewTags begins to measure the tags of a model. They are parts if its tokens have features and all
// tags are called CATEGORY/PART.
func NewTags(c *sft.Config) *Tags {
	m := &Tags{Tagging: metrics.NewTagging(c.LabelNames, c.NumLabels)}
	if c.Featured() {
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
			return fmt.Errorf("label %d of token %d, the model has %d", label, t, c.NumLabels)
		}
	}
	return nil
}

func (m *Tags) add(c *sft.Config, x *seq.Example, _ int, logits []float32) error {
	if err := finite(logits); err != nil {
		return err
	}
	m.Count(x.Labels, c.TagsOf(logits), m.Among(x.Labels, logits), float32(c.TaggingLossOf(logits, *x)))
	return nil
}

// Among are the answers among the parts of a row's category, nil where tags are no parts.
func (m *Tags) Among(labels []int32, logits []float32) []int32 {
	if m.Parts == nil {
		return nil
	}
	return m.Parts.Among(labels, logits)
}

// Count counts a row: its labels, the tags that are answered, those among the parts of its category,
// and their loss.
func (m *Tags) Count(labels, tags, among []int32, loss float32) {
	m.Rows++
	m.Loss += float64(loss)
	m.Add(labels, tags)
	if m.Parts != nil {
		m.Parts.Add(labels, among)
	}
}

// finite reports an output that is nothing to be measured.
func finite(logits []float32) error {
	for i, v := range logits {
		if v-v != 0 {
			return fmt.Errorf("the model's output is not finite: logit %d is %v", i, v)
		}
	}
	return nil
}
