package sft

import (
	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
)

// classification handles predictions of one class for a sequence or a pair.
type classification struct{ defaultTraits }

func (classification) columns(c *Config) []arrow.Field {
	return []arrow.Field{
		{Name: "label", Type: arrow.PrimitiveTypes.Int32},
		{Name: "logits", Type: vector(c.NumLabels)},
		{Name: "probabilities", Type: vector(c.NumLabels)},
	}
}

func (classification) append(_ *Config, b *array.RecordBuilder, logits []float32) {
	b.Field(0).(*array.Int32Builder).Append(int32(Argmax(logits)))
	appendVector(b.Field(1), logits)
	appendVector(b.Field(2), Probabilities(logits))
}

func (classification) mean(c *Config, logits [][]float32) []float32 {
	return meanOfClasses(c.NumLabels, logits)
}
