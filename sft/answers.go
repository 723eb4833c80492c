package sft

import (
	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft/config"
)

// answers are the predictions of a kind in a record and in an ensemble. They have one logit for each of
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
	// numbers are the predictions in the units of the data; nil for none.
	numbers(c *Config, logits []float32) []float32
	// columnNames is the key of a record's metadata with the names of the logits.
	columnNames(c *Config) (key string, names []string)
}

// ofRows are the traits of the answers of most kinds.
type ofRows struct{}

func (ofRows) numbers(*Config, []float32) []float32 { return nil }

func (ofRows) columnNames(c *Config) (key string, names []string) {
	return seq.KeyLabelNames, c.LabelNames
}

// answersByKind has no entry for [config.MaskedTokens], which do not answer to a whole sequence.
var answersByKind = map[config.Kind]answers{
	config.Classes: classification{},
	config.Labels:  multiLabel{},
	config.Numbers: regression{},
	config.Tags:    tagging{},
}

// answersOf are those of a model that [config.Config.CheckAnswers] finds to have some.
func answersOf(c *Config) answers { return answersByKind[c.Kind()] }
