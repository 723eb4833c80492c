package sft

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/sftseq/sftseq/internal/tensor"
	"github.com/sftseq/sftseq/seq"
)

// Inputs of [Config.Input].
const (
	FeaturesInput = "features" // all of a token, through one linear layer
	OnesInput     = "ones"     // the number 1: what a model knows of a token is its relation to others
)

// featureTokenizer stands where a model reads no text.
var featureTokenizer = json.RawMessage(`{"type":"none"}`)

// Featured reports whether tokens have numbers in place of ids.
func (c *Config) Featured() bool { return c.FeatureNames != nil }

// inputWidth is how many numbers of a token the input layer reads.
func (c *Config) inputWidth() int {
	if c.Input == OnesInput {
		return 1
	}
	return len(c.FeatureNames)
}

// describeFeatures takes what the data say of the numbers of tokens. Points in space have no
// order, so that their relation is that of their distances, unless it is none.
func (c *Config) describeFeatures(s seq.Spec) {
	c.FeatureScales = nil
	if c.FeatureNames = s.FeatureNames; !c.Featured() {
		c.Input, c.EdgeFeatureNames = "", nil
		return
	}
	c.Tokenizer = featureTokenizer
	c.describeEdges(s)
	if c.Relative == SinusoidRelation && seq.Points(s.FeatureNames) != nil {
		c.Relative = DistanceRelation
	}
}

// validateFeatures reports what does not go with the numbers of tokens.
func (c *Config) validateFeatures() error {
	bad := func(key string, found any, expected string) error {
		return &ConfigError{key, fmt.Sprint(found), expected}
	}
	if c.Relative == DistanceRelation && seq.Points(c.FeatureNames) == nil {
		return bad("relative", DistanceRelation, "another one: "+strings.Join(seq.PositionNames,
			", ")+" are not all features of the tokens")
	}
	if !c.Featured() {
		if c.Input != "" {
			return bad("input", fmt.Sprintf("%q", c.Input), "none: tokens have ids")
		}
		if c.FeatureScales != nil {
			return bad("feature_scales", fmt.Sprintf("%d of them", len(c.FeatureScales)), "none: tokens have ids")
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
		return bad("vocab_size", c.VocabSize, "0: tokens have features, no ids")
	case c.PadTokenID != nil:
		return bad("pad_token_id", *c.PadTokenID, "null: tokens have features, no ids")
	case c.MaskTokenID != nil:
		return bad("mask_token_id", *c.MaskTokenID, "none: tokens have features, no ids")
	case !c.objective().takesFeatures():
		return bad("task", fmt.Sprintf("%q", c.Task), "one of a sequence: tokens have features")
	}
	return nil
}

// CheckFeatures reports the first token that the model cannot read.
func (c *Config) CheckFeatures(features [][]float32) error {
	switch n := len(features); {
	case n == 0:
		return errors.New("the sequence is empty, at least 1 token with features was expected")
	case n > c.MaxLength:
		return fmt.Errorf("the sequence has %d tokens, the model accepts at most %d", n, c.MaxLength)
	}
	for i, row := range features {
		if len(row) != len(c.FeatureNames) {
			return fmt.Errorf("token %d has %d features, expected %d: %s", i, len(row), len(c.FeatureNames),
				strings.Join(c.FeatureNames, ", "))
		}
		for j, v := range row {
			if v-v != 0 {
				return fmt.Errorf("token %d: %s is %v, a finite number was expected", i, c.FeatureNames[j], v)
			}
			if x := c.scaled(j, v); x-x != 0 {
				s := c.FeatureScales[j]
				return fmt.Errorf("token %d: %s is %v, expected a number within float32 once it is standardised by mean %v and deviation %v", i, c.FeatureNames[j], v, s.Mean, s.Deviation)
			}
		}
	}
	return nil
}

// WindowFeatures is [Config.Window] for tokens with features.
func (c *Config) WindowFeatures(features [][]float32) ([][]float32, error) {
	if w := c.InputWindow; w != nil && len(features) > w.Length {
		if w.Policy != "head" {
			return nil, fmt.Errorf("the sequence has %d tokens, the model's input window accepts at most %d",
				len(features), w.Length)
		}
		features = features[:w.Length]
	}
	return features, c.CheckFeatures(features)
}

// embed gives each token a row: that of its id, or a linear layer of its numbers.
func (m *emitter) embed(pass *recordedPass) *tensor.Tensor {
	if !m.config.Featured() {
		x := m.tokens("embed", m.config.HiddenSize)
		m.Launch(tensor.Embed{Y: x, Token: m.batch.Tokens, Weight: m.weight("embed.weight")})
		return x
	}
	pass.Features = m.Input("features", tensor.Tokens, m.shape.Tokens, m.config.inputWidth())
	if m.config.Relative == DistanceRelation {
		m.points = m.Input("points", tensor.Tokens, m.shape.Tokens, 3*pairFeatures(m.config))
		pass.Points = m.points
	}
	if m.config.Relative == EdgeRelation {
		m.edges = m.edgeInputs()
		pass.Edges = m.edges
	}
	return m.linear("input", pass.Features)
}

// embedBackward goes back to the weights.
func (m *emitter) embedBackward(pass *recordedPass, dx *tensor.Tensor) {
	if pass.Features == nil {
		m.Launch(tensor.EmbedBackward{DWeight: m.gradient("embed.weight"), DY: dx, Token: m.batch.Tokens})
		return
	}
	m.linearBackward("input", m.Temp("input.grad", tensor.Tokens, m.shape.Tokens, m.config.inputWidth()),
		dx, pass.Features, false)
}

// addFeatures adds what the input layer and the relation read of examples' tokens, with as many
// threads.
func (p *packed) addFeatures(c *Config, examples []seq.Example, threads int) {
	if !c.Featured() {
		return
	}
	var columns []int // of points
	if c.Relative == DistanceRelation {
		columns = seq.Points(c.FeatureNames)
	}
	tokens := len(p.position)
	p.features, p.points = resized(p.features, tokens*c.inputWidth()), resized(p.points, tokens*len(columns))
	inParallel(threads, len(examples),
		func(_, i int) { p.setFeatures(c, columns, examples[i].Features, int(p.offset[i])) })
	if c.Relative == EdgeRelation {
		p.edges.pack(examples, p.offset, len(c.EdgeFeatureNames), threads)
	}
}

// setFeatures sets those of an example, whose tokens begin at one.
func (p *packed) setFeatures(c *Config, columns []int, features [][]float32, from int) {
	width := c.inputWidth()
	inputs, points := p.features[from*width:][:len(features)*width],
		p.points[from*len(columns):][:len(features)*len(columns)]
	for t, row := range features {
		if input := inputs[t*width:][:width]; c.Input == OnesInput {
			input[0] = 1
		} else if c.FeatureScales == nil {
			copy(input, row)
		} else {
			for j, x := range row {
				input[j] = c.scaled(j, x)
			}
		}
		point := points[t*len(columns):][:len(columns)]
		for i, column := range columns {
			point[i] = row[column]
		}
	}
}
