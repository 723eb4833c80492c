package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/sftseq/sftseq/seq"
)

// Values of [Config.Input].
const (
	FeaturesInput = "features" // all features of a token, through one linear layer
	OnesInput     = "ones"     // the number 1: the model reads only the relations of tokens
)

// featureTokenizer is the tokenizer of models whose tokens have features.
var featureTokenizer = json.RawMessage(`{"type":"none"}`)

// HasFeatures reports whether tokens have features instead of ids.
func (c *Config) HasFeatures() bool { return c.FeatureNames != nil }

// describeFeatures sets the features of tokens from the data. Points have no order: their relation
// is their distance, unless they have edges or the configuration selects no relation.
func (c *Config) describeFeatures(s seq.Spec) {
	c.FeatureScales = nil
	if c.FeatureNames = s.FeatureNames; !c.HasFeatures() {
		c.Input, c.EdgeFeatureNames = "", nil
		return
	}
	c.Tokenizer = featureTokenizer
	c.describeEdges(s)
	if c.Relative == SinusoidRelation && seq.Points(s.FeatureNames) != nil {
		c.Relative = DistanceRelation
	}
}

// validateFeatures checks feature_names, and the values that depend on whether tokens have features
// or ids.
func (c *Config) validateFeatures() error {
	bad := func(key string, found any, expected string) error {
		return &Error{key, fmt.Sprint(found), expected}
	}
	if c.Relative == DistanceRelation && seq.Points(c.FeatureNames) == nil {
		return bad("relative", DistanceRelation, "another value, because the tokens lack some of the features "+
			strings.Join(seq.PositionNames, ", "))
	}
	if !c.HasFeatures() {
		if c.Input != "" {
			return bad("input", fmt.Sprintf("%q", c.Input), "none, because tokens have ids")
		}
		if c.FeatureScales != nil {
			return bad("feature_scales", fmt.Sprintf("%d scales", len(c.FeatureScales)), "none, because tokens have ids")
		}
		return nil
	}
	if err := seq.CheckFeatureNames(c.FeatureNames); err != nil {
		return fmt.Errorf("feature_names: %w", err)
	}
	if err := c.validateScales(); err != nil {
		return err
	}
	switch {
	case c.Input != "" && c.Input != FeaturesInput && c.Input != OnesInput:
		return bad("input", fmt.Sprintf("%q", c.Input), FeaturesInput+", "+OnesInput)
	case c.VocabSize != 0:
		return bad("vocab_size", c.VocabSize, "0, because tokens have features instead of ids")
	case c.PadTokenID != nil:
		return bad("pad_token_id", *c.PadTokenID, "null, because tokens have features instead of ids")
	case c.MaskTokenID != nil:
		return bad("mask_token_id", *c.MaskTokenID, "none, because tokens have features instead of ids")
	case !c.task().supportsFeatures():
		return bad("task", fmt.Sprintf("%q", c.Task), "a task that supports features")
	}
	return nil
}

// CheckFeatures returns an error if a sequence is empty or too long, or has a token that the model
// does not accept.
func (c *Config) CheckFeatures(features [][]float32) error {
	switch n := len(features); {
	case n == 0:
		return errors.New("expected at least 1 token with features, found an empty sequence")
	case n > c.MaxLength:
		return fmt.Errorf("the sequence has %d tokens, but the model accepts at most %d", n, c.MaxLength)
	}
	for i, row := range features {
		if len(row) != len(c.FeatureNames) {
			return fmt.Errorf("token %d has %d features, expected %d: %s", i, len(row), len(c.FeatureNames),
				strings.Join(c.FeatureNames, ", "))
		}
		for j, v := range row {
			if v-v != 0 {
				return fmt.Errorf("token %d: %s is %v, expected a finite number", i, c.FeatureNames[j], v)
			}
			if x := c.ScaledFeature(j, v); x-x != 0 {
				s := c.FeatureScales[j]
				return fmt.Errorf("token %d: %s is %v, which exceeds float32 when standardised with mean %v and deviation %v",
					i, c.FeatureNames[j], v, s.Mean, s.Deviation)
			}
		}
	}
	return nil
}

// WindowFeatures is [Config.Window] for tokens with features.
func (c *Config) WindowFeatures(features [][]float32) ([][]float32, error) {
	if err := c.checkWindow(len(features)); err != nil {
		return nil, err
	}
	features = seq.Cut(c.ReadWindow(), features)
	return features, c.CheckFeatures(features)
}
