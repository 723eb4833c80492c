package sft

import (
	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft/config"
)

// answers handles the predictions of a kind in records and ensembles. A prediction has one logit
// for each of [config.Config.NumLabels]; with tagging, each token has that number of logits.
type answers interface {
	// columns returns the columns of predictions in a record, and append appends a prediction.
	columns(c *Config) []arrow.Field
	append(c *Config, b *array.RecordBuilder, logits []float32)
	// mean returns the prediction of an ensemble from the logits of each model.
	mean(c *Config, logits [][]float32) []float32
	answerTraits
}

// answerTraits are the methods for which most kinds use [ofRows].
type answerTraits interface {
	// numbers returns predictions in the units of the data, or nil if the kind has no numbers.
	numbers(c *Config, logits []float32) []float32
	// columnNames returns the key in a record's metadata for the names of the logits, and the
	// names.
	columnNames(c *Config) (key string, names []string)
}

// ofRows implements answerTraits for most kinds.
type ofRows struct{}

func (ofRows) numbers(*Config, []float32) []float32 { return nil }

func (ofRows) columnNames(c *Config) (key string, names []string) {
	return seq.KeyLabelNames, c.LabelNames
}

// answersByKind has no entry for [config.MaskedTokens], which have no prediction for a whole
// sequence.
var answersByKind = map[config.Kind]answers{
	config.Classes: classification{},
	config.Labels:  multiLabel{},
	config.Numbers: regression{},
	config.Tags:    tagging{},
}

// answersOf returns the answers of a model that [config.Config.CheckAnswers] accepts.
func answersOf(c *Config) answers { return answersByKind[c.Kind()] }
