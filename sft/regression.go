package sft

import (
	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/sftseq/sftseq/seq"
)

// regression handles predictions of numbers, in the units of the data.
type regression struct{}

func (regression) mean(_ *Config, logits [][]float32) []float32 { return meanOfNumbers(logits) }

func (regression) columns(c *Config) []arrow.Field {
	return []arrow.Field{{Name: seq.ColumnNumbers, Type: vector(c.NumLabels)}}
}

func (regression) append(c *Config, b *array.RecordBuilder, logits []float32) {
	appendVector(b.Field(0), c.Predictions(logits))
}

func (regression) numbers(c *Config, logits []float32) []float32 { return c.Predictions(logits) }

func (regression) columnNames(c *Config) (key string, names []string) {
	return seq.KeyNumberNames, c.NumberNames()
}
