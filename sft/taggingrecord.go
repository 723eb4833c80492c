package sft

import (
	"slices"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
)

// columns are the tag of each token and its probability.
func (tagging) columns(*Config) []arrow.Field {
	return []arrow.Field{
		{Name: "labels", Type: arrow.ListOf(arrow.PrimitiveTypes.Int32)},
		{Name: "probabilities", Type: arrow.ListOf(arrow.PrimitiveTypes.Float32)},
	}
}

func (tagging) append(c *Config, b *array.RecordBuilder, logits []float32) {
	labels, probabilities := b.Field(0).(*array.ListBuilder), b.Field(1).(*array.ListBuilder)
	labels.Append(true)
	probabilities.Append(true)
	for row := range slices.Chunk(logits, c.NumLabels) {
		tag := Argmax(row)
		labels.ValueBuilder().(*array.Int32Builder).Append(int32(tag))
		probabilities.ValueBuilder().(*array.Float32Builder).Append(Probabilities(row)[tag])
	}
}
