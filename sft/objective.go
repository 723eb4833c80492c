package sft

import (
	"maps"
	"slices"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/sftseq/sftseq/internal/tensor"
	"github.com/sftseq/sftseq/seq"
)

// objective is what a model is trained for and what it answers, chosen by [Config.Task].
// Answers are logits of classes so far.
type objective interface {
	// sequences is how many an example has. They share the encoder.
	sequences() int
	// check reports an example with a label that the model cannot learn.
	check(c *Config, e seq.Example) error

	// parameters are those of the head, and head records it.
	parameters(c *Config) []Parameter
	head(m *emitter) head
	// loss records the loss of the pass's answers, and returns the gradient of its sum.
	loss(m *emitter, p *recordedPass) (danswers *tensor.Tensor)
	// divisor is what the sum over a batch is divided by.
	divisor(batch []seq.Example) int
	// weight is the factor of the loss of an example.
	weight(s *Settings, e seq.Example) float64

	// answered reports whether an answer is right.
	answered(answer []float32, e seq.Example) bool
	// measure begins the measurement of a split.
	measure(c *Config, s *Settings) measurement
	// columns are those of answers in a record, and append appends one.
	columns(c *Config) []arrow.Field
	append(b *array.RecordBuilder, answer []float32)
}

// head turns the pooled rows of sequences into answers, and gradients of answers into
// those of the pooled rows.
type head interface {
	forward(pooled *tensor.Tensor) (answers *tensor.Tensor)
	backward(danswers *tensor.Tensor) (dpooled *tensor.Tensor)
}

// headParameters are those behind the layers: of the pooling and of the objective's head.
func headParameters(c *Config) []Parameter {
	return append(poolingParameters(c), c.objective().parameters(c)...)
}

// measurement adds up answers, and says what they come to.
type measurement interface {
	add(answer []float32, e seq.Example)
	report(r *EvaluationReport)
}

var objectives = map[string]objective{
	Classification: classification{},
	Retrieval:      retrieval{},
}

// Tasks are the values of [Config.Task].
func Tasks() []string { return slices.Sorted(maps.Keys(objectives)) }

func (c *Config) objective() objective { return objectives[c.Task] }

// Sequences is how many sequences an example of the model has: two are a pair, which
// shares one encoder.
func (c *Config) Sequences() int { return c.objective().sequences() }
