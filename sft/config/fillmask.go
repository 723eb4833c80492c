package config

import (
	"fmt"

	"github.com/sftseq/sftseq/internal/spectra"
	"github.com/sftseq/sftseq/seq"
)

// fillMask is the task of predicting masked tokens.
type fillMask struct{ defaultTraits }

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
		if s.VocabSize <= smallVocabulary {
			c.MaskSpan = smallVocabularySpan
		}
	}
	return nil
}

func (fillMask) validate(c *Config) error {
	switch {
	case c.MaskTokenID == nil:
		return &Error{"mask_token_id", "none", "the id of the mask token for task fill-mask"}
	case c.MaskTargets != nil && c.DataVocabSize() != spectra.Levels:
		return &Error{"mask_targets", SpectrumTargets,
			fmt.Sprintf("none: spectra require audio samples of %d levels, the vocabulary without the mask has %d tokens",
				spectra.Levels, c.DataVocabSize())}
	case c.MaskTargets != nil && !c.MaskTargets.Learned():
		return &Error{"mask_targets", "no spectra", "spectra learned from the data"}
	case c.MaskTargets != nil && c.TieEmbeddings:
		return &Error{"tie_embeddings", "true", "false, because the model predicts spectra instead of tokens"}
	case c.MaskTargets != nil && c.NumLabels != c.MaskTargets.Len():
		return &Error{"num_labels", fmt.Sprint(c.NumLabels),
			fmt.Sprintf("%d, the number of spectra in mask_targets", c.MaskTargets.Len())}
	case c.MaskTargets == nil && c.NumLabels != c.VocabSize-1:
		return &Error{"num_labels", fmt.Sprint(c.NumLabels),
			fmt.Sprintf("%d, the number of tokens without the mask", c.VocabSize-1)}
	case !(c.MaskRate >= minMaskRate && float32(c.MaskRate) < 1): // draws are compared in float32
		return &Error{"mask_rate", fmt.Sprint(c.MaskRate), fmt.Sprintf("%v ≤ rate < 1", minMaskRate)}
	case !(c.MaskSpan >= 1 && c.MaskSpan <= maxMaskSpan):
		return &Error{"mask_span", fmt.Sprint(c.MaskSpan),
			fmt.Sprintf("a mean of 1 to %d tokens", maxMaskSpan)}
	}
	return nil
}

func (fillMask) check(c *Config, e seq.Example) error {
	for i, token := range e.A {
		if token == *c.MaskTokenID {
			return fmt.Errorf("token %d at index %d is the mask: training examples must not contain it", token, i)
		}
	}
	return nil
}

func (fillMask) headOperations(c *Config, _ int) float64 {
	return float64(c.HiddenSize) * float64(c.NumLabels) * c.MaskRate
}

func (fillMask) supportsFeatures() bool { return false }

// Defaults of fill-mask models. With a small vocabulary, such as bytes, spans are masked, because a
// single masked byte would be easy to predict from its two neighbours.
const (
	maskRate            = 0.15
	smallVocabulary     = 1024 // maximum size of a vocabulary whose tokens are masked in spans
	smallVocabularySpan = 3    // mean length of a span, in tokens
)

// Limits of masking. A lower rate would leave too few targets to learn from. With longer spans the
// number of masked tokens would vary more, and a pass would need more memory for logits.
const (
	minMaskRate = 0.001
	maxMaskSpan = 1000
)

// targetsMaskRate replaces maskRate for models with [MaskTargets]. It is higher because a visible
// token does not reveal its class.
const targetsMaskRate = 0.5
