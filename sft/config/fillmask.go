package config

import (
	"fmt"

	"github.com/sftseq/sftseq/internal/spectra"
	"github.com/sftseq/sftseq/seq"
)

// fillMask is the task of predicting masked tokens.
type fillMask struct{ ofRows }

func (fillMask) kind() Kind { return MaskedTokens }

func (fillMask) describe(c *Config, s seq.Spec) error {
	c.LabelNames, c.NumLabels, c.Numbers, c.RegressionLoss = nil, s.VocabSize, nil, ""
	c.VocabSize, c.MaskTokenID = s.VocabSize+1, new(int32(s.VocabSize))
	if c.MaskTargets != nil {
		c.NumLabels = c.MaskTargets.Len()
	}
	if c.MaskRate == 0 {
		c.MaskRate = maskRate
		if c.MaskTargets != nil {
			c.MaskRate = targetsMaskRate
		}
	}
	if c.MaskSpan == 0 {
		c.MaskSpan = 1
		if s.VocabSize <= smallTokens {
			c.MaskSpan = smallTokensSpan
		}
	}
	return nil
}

func (fillMask) validate(c *Config) error {
	switch {
	case c.MaskTokenID == nil:
		return &Error{"mask_token_id", "none", "that of the mask, which the task fill-mask needs"}
	case c.MaskTargets != nil && c.DataVocabSize() != spectra.Levels:
		return &Error{"mask_targets", SpectrumTargets,
			fmt.Sprintf("none: tokens are no samples of sound, whose vocabulary has %d and the mask, but %d",
				spectra.Levels, c.VocabSize)}
	case c.MaskTargets != nil && !c.MaskTargets.Learned():
		return &Error{"mask_targets", "names of no spectra", "those that were learned from the data"}
	case c.MaskTargets != nil && c.TieEmbeddings:
		return &Error{"tie_embeddings", "true", "false: embeddings belong to tokens, and the model predicts spectra"}
	case c.MaskTargets != nil && c.NumLabels != c.MaskTargets.Len():
		return &Error{"num_labels", fmt.Sprint(c.NumLabels),
			fmt.Sprintf("%d, the names that mask_targets has", c.MaskTargets.Len())}
	case c.MaskTargets == nil && c.NumLabels != c.VocabSize-1:
		return &Error{"num_labels", fmt.Sprint(c.NumLabels),
			fmt.Sprintf("%d, all tokens but the mask", c.VocabSize-1)}
	case !(c.MaskRate >= minMaskRate && float32(c.MaskRate) < 1): // draws are compared in float32
		return &Error{"mask_rate", fmt.Sprint(c.MaskRate), fmt.Sprintf("%v ≤ rate < 1", minMaskRate)}
	case !(c.MaskSpan >= 1 && c.MaskSpan <= maxMaskSpan):
		return &Error{"mask_span", fmt.Sprint(c.MaskSpan),
			fmt.Sprintf("a mean number of tokens, 1 to %d", maxMaskSpan)}
	}
	return nil
}

func (fillMask) check(c *Config, e seq.Example) error {
	for i, token := range e.A {
		if token == *c.MaskTokenID {
			return fmt.Errorf("token %d at index %d is the mask, which no example to learn from may contain", token, i)
		}
	}
	return nil
}

func (fillMask) headOperations(c *Config, _ int) float64 {
	return float64(c.HiddenSize) * float64(c.NumLabels) * c.MaskRate
}

func (fillMask) takesFeatures() bool { return false }

// Defaults of fill-mask models. With a small vocabulary, such as bytes, spans are masked, because
// two neighbours reveal a single masked byte.
const (
	maskRate        = 0.15
	smallTokens     = 1024 // maximum size of a vocabulary whose tokens are masked in spans
	smallTokensSpan = 3
)

// Limits of masking. A lower rate or longer spans would leave too little to learn, and the room of
// a pass is planned for the expected number of masked tokens.
const (
	minMaskRate = 0.001
	maxMaskSpan = 1000
)

// targetsMaskRate replaces maskRate if targets are classes. It is higher because a visible token
// does not reveal its class.
const targetsMaskRate = 0.5
