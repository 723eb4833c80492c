package sft

import (
	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
)

// tagging handles predictions of one label per token.
type tagging struct{ defaultTraits }

func (tagging) mean(c *Config, logits [][]float32) []float32 {
	return meanOfClasses(c.NumLabels, logits)
}

// columns returns the columns of each token's tag and its probability.
func (tagging) columns(*Config) []arrow.Field {
	return []arrow.Field{
		{Name: "tags", Type: arrow.ListOf(arrow.PrimitiveTypes.Int32)},
		{Name: "scores", Type: arrow.ListOf(arrow.PrimitiveTypes.Float32)},
	}
}

func (tagging) append(c *Config, b *array.RecordBuilder, logits []float32) {
	tags, scores := b.Field(0).(*array.ListBuilder), b.Field(1).(*array.ListBuilder)
	tags.Append(true)
	scores.Append(true)
	for i, tag := range c.TagsOf(logits) {
		row := logits[i*c.NumLabels : (i+1)*c.NumLabels]
		tags.ValueBuilder().(*array.Int32Builder).Append(tag)
		scores.ValueBuilder().(*array.Float32Builder).Append(Probabilities(row)[tag])
	}
}
