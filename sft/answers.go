package sft

import (
	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft/config"
)

// answers are the predictions of the models of a task that has logits, one for each of
// [config.Config.NumLabels], or that number for each token.
type answers interface {
	// columns are those of answers in a record, and append appends one.
	columns(c *Config) []arrow.Field
	append(c *Config, b *array.RecordBuilder, logits []float32)
	// mean is the answer of an ensemble to an example, of the logits of each model.
	mean(c *Config, logits [][]float32) []float32
	answerTraits
}

// answerTraits are the differences between answers that [ofRows] has for most.
type answerTraits interface {
	// outputs are what a scorer returns of the logits of a pass, which it may change. Of classes their softmax has the
	// probabilities and their maximum is the prediction, of labels the sigmoid has them.
	outputs(c *Config, logits []float32) []float32
	// numbers are the predictions in the units of the data; nil for none.
	numbers(c *Config, logits []float32) []float32
	// columnNames is the key of a record's metadata with the names of the logits.
	columnNames(c *Config) (key string, names []string)
}

// ofRows are the traits of the answers of most tasks.
type ofRows struct{}

func (ofRows) outputs(c *Config, logits []float32) []float32 { return calibrated(c, logits) }

func (ofRows) numbers(*Config, []float32) []float32 { return nil }

func (ofRows) columnNames(c *Config) (key string, names []string) {
	return seq.KeyLabelNames, c.LabelNames
}

// answersByTask has no entry for a task whose models have no answer to a whole sequence.
var answersByTask = map[string]answers{
	config.Classification: classification{},
	config.Retrieval:      classification{},
	config.Regression:     regression{},
	config.MultiLabel:     multiLabel{},
	config.Tagging:        tagging{},
}

// answersOf are those of a model that [config.Config.CheckAnswers] finds to have some.
func answersOf(c *Config) answers { return answersByTask[c.Task] }

// calibrated divides logits by the temperature.
func calibrated(c *Config, logits []float32) []float32 {
	if d := float32(c.LogitDivisor()); d != 1 {
		for i := range logits {
			logits[i] /= d
		}
	}
	return logits
}
