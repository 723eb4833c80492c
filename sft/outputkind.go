package sft

import (
	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft/config"
)

// outputKind handles predictions of one [config.Kind] in records and ensembles. A prediction has
// [config.Config.NumLabels] logits; with tagging, each token has this number of logits.
type outputKind interface {
	// columns returns the columns of predictions in a record, and append appends a prediction.
	columns(c *Config) []arrow.Field
	append(c *Config, b *array.RecordBuilder, logits []float32)
	// mean returns the logits of an ensemble, computed from the logits of each of its models.
	mean(c *Config, logits [][]float32) []float32
	outputTraits
}

// outputTraits holds the methods that most kinds share: see [defaultTraits].
type outputTraits interface {
	// numbers returns predictions in the units of the data, or nil if the kind has no numbers.
	numbers(c *Config, logits []float32) []float32
	// columnNames returns the key in a record's metadata for the names of the logits, and the
	// names.
	columnNames(c *Config) (key string, names []string)
}

// defaultTraits implements outputTraits for kinds other than numbers.
type defaultTraits struct{}

func (defaultTraits) numbers(*Config, []float32) []float32 { return nil }

func (defaultTraits) columnNames(c *Config) (key string, names []string) {
	return seq.KeyLabelNames, c.LabelNames
}

// outputKinds holds the implementation for each kind. [config.MaskedTokens] has no entry, because
// it has no prediction for a whole sequence.
var outputKinds = map[config.Kind]outputKind{
	config.Classes: classification{},
	config.Labels:  multiLabel{},
	config.Numbers: regression{},
	config.Tags:    tagging{},
}

// outputKindOf returns the output kind of a model, or nil if [config.Config.CheckHasPredictions]
// refuses the model.
func outputKindOf(c *Config) outputKind { return outputKinds[c.Kind()] }
