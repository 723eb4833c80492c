package config

import (
	linearmodel "github.com/sftseq/sftseq/internal/linear"
)

// FusionType is the model_type of a [sft.Fusion].
const FusionType = "fusion"

// LinearType is the model_type of a linear model of n-grams, which has no layers. The command
// sftseq train custom --members linear trains such a model.
const LinearType = linearmodel.ModelType

// IsLinear reports whether the model is linear. A linear model's configuration has only the keys
// for its inputs and its predictions.
func (c *Config) IsLinear() bool { return c.ModelType == LinearType }

// linearConfig converts the configuration of a linear model.
func linearConfig(text []byte) (*Config, error) {
	l, err := linearmodel.ParseConfig(text)
	if err != nil {
		return nil, err
	}
	c := &Config{
		ModelType: l.ModelType,
		Task:      l.Task,
		Extra:     l.Extra,
		Inputs: Inputs{VocabSize: l.VocabSize, PadTokenID: l.PadTokenID,
			MaxLength: maxSize, Tokenizer: l.Tokenizer},
		Head: Head{NumLabels: l.Outputs(), LabelNames: l.LabelNames},
	}
	for _, n := range l.Numbers {
		c.Numbers = append(c.Numbers, Number(n))
	}
	return c, nil
}
