package model

import (
	"math"

	"github.com/sftseq/sftseq/internal/tensor"
	"github.com/sftseq/sftseq/sft/config"
)

// inputWidth returns the number of values per token that the input layer reads.
func inputWidth(c *config.Config) int {
	if c.Input == config.OnesInput {
		return 1
	}
	return len(c.FeatureNames)
}

// embed returns a row for each token: the embedding of its id, or a linear layer of its features.
func (m *emitter) embed(pass *recordedPass) *tensor.Tensor {
	if !m.config.HasFeatures() {
		x := m.tokens("embed", m.config.HiddenSize)
		m.Launch(tensor.Embed{Y: x, Token: m.batch.Tokens, Weight: m.weight("embed.weight")})
		return m.addNGrams(pass, x)
	}
	pass.Features = m.Input("features", tensor.Tokens, m.shape.Tokens, inputWidth(m.config))
	if m.config.Relative == config.DistanceRelation {
		m.points = m.Input("points", tensor.Tokens, m.shape.Tokens, 3*pairFeatures(m.config))
		pass.Points = m.points
	}
	if m.config.Relative == config.EdgeRelation {
		m.edges = m.edgeInputs()
		pass.Edges = m.edges
	}
	return m.linear("input", pass.Features)
}

// embedBackward records the gradients of the input layer's weights.
func (m *emitter) embedBackward(pass *recordedPass, dx *tensor.Tensor) {
	if pass.Features == nil {
		dx = m.ngramsBackward(pass, dx)
		m.Launch(tensor.EmbedBackward{DWeight: m.gradient("embed.weight"), DY: dx, Token: m.batch.Tokens})
		return
	}
	m.linearBackward("input", m.Temp("input.grad", tensor.Tokens, m.shape.Tokens, inputWidth(m.config)),
		dx, pass.Features, false)
}

// embedParameters returns the parameters of the input layer: a linear layer of features, or the
// embeddings of ids. Initial embeddings are normal. Their standard deviation is 1/√d if they are tied,
// so that logits are of order 1; 1/d in other models with embeddings of n-grams; and otherwise 1.
func embedParameters(c *config.Config) []parameter {
	if c.HasFeatures() {
		return linearParameters(config.PartEmbed, "input", c.HiddenSize, inputWidth(c))
	}
	size := 1.0
	switch {
	case c.TieEmbeddings:
		size = 1 / math.Sqrt(float64(c.HiddenSize))
	case c.NGrams != nil: // embeddings of n-grams are added, and are initially zero
		size = 1 / float64(c.HiddenSize)
	}
	return []parameter{{Name: "embed.weight", Shape: []int{c.VocabSize, c.HiddenSize},
		Decay: true, Part: config.PartEmbed,
		initializer: func(d draws, e int) float64 { return size * d.Normal(e) }}}
}
