package sft

import (
	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
)

// multiLabel handles predictions of any number of labels.
type multiLabel struct{ defaultTraits }

func (multiLabel) mean(_ *Config, logits [][]float32) []float32 { return meanOfLabels(logits) }

func (multiLabel) columns(c *Config) []arrow.Field {
	return []arrow.Field{
		{Name: "labels", Type: arrow.ListOfNonNullable(arrow.PrimitiveTypes.Int32)},
		{Name: "logits", Type: vector(c.NumLabels)},
		{Name: "probabilities", Type: vector(c.NumLabels)},
	}
}

func (multiLabel) append(c *Config, b *array.RecordBuilder, logits []float32) {
	labels, probabilities := c.PredictedLabels(logits)
	list := b.Field(0).(*array.ListBuilder)
	list.Append(true)
	list.ValueBuilder().(*array.Int32Builder).AppendValues(labels, nil)
	appendVector(b.Field(1), logits)
	appendVector(b.Field(2), probabilities)
}
