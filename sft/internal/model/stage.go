package model

import (
	"github.com/sftseq/sftseq/internal/tensor"
	"github.com/sftseq/sftseq/sft/config"
)

// stage is the part of the model that a pass computes.
type stage uint8

const (
	wholeModel    stage = iota
	localStage          // embedding, local layers and exports of a chunked model
	documentStage       // the other layers of a chunked model, then readout and head, or the contexts of chunks
	tokenStage          // the local layers again, then a head that reads tokens: see contexts
)

// predictsTokens reports whether the head reads the rows of tokens.
func predictsTokens(c *config.Config) bool { return c.PerToken() || c.MasksTokens() }

// hasContexts reports whether the model is chunked and its head reads the rows of tokens.
func hasContexts(c *config.Config) bool { return c.Chunks != nil && predictsTokens(c) }

// stages returns the stages of a model in their order.
func stages(c *config.Config) []stage {
	if c.Chunks == nil {
		return []stage{wholeModel}
	}
	if hasContexts(c) {
		return []stage{localStage, documentStage, tokenStage}
	}
	return []stage{localStage, documentStage}
}

// readsChunks reports whether the sequences of the stage are chunks.
func (s stage) readsChunks() bool { return s == localStage || s == tokenStage }

// layers returns the range of the layers that the stage computes.
func (s stage) layers(c *config.Config) (from, to int) {
	switch s {
	case localStage, tokenStage:
		return 0, c.Chunks.Layers
	case documentStage:
		return c.Chunks.Layers, c.NumLayers
	}
	return 0, c.NumLayers
}

// mode returns the mode of the stage's passes in a computation of mode m: only the last stage computes
// losses and predictions of masked tokens.
func (s stage) mode(c *config.Config, m PassMode) PassMode {
	if s != lastStage(c) && (m == LossMode || m == FillMode) {
		return InferMode
	}
	return m
}

// sequences returns the number of sequences in each item of the stage. An item is an example or a chunk.
func (s stage) sequences(c *config.Config) int {
	if s.readsChunks() {
		return 1
	}
	return c.Sequences()
}

// poolingSamples returns the number of tokens that the stage's pooling samples from each sequence.
func (s stage) poolingSamples(c *config.Config) int {
	if s.readsChunks() {
		return c.Chunks.Exports
	}
	return c.PoolingSamples
}

// targetCapacity returns the number of targets for which a pass of the stage has room. The targets of
// the document stage are the contexts of chunks.
func (s stage) targetCapacity(c *config.Config, tokens, sequences int) int {
	if s == documentStage && hasContexts(c) {
		return tokens
	}
	return objectiveOf(c).targetCapacity(c, tokens, sequences)
}

// stageInput returns the rows that the stage's first layer reads.
func (m *emitter) stageInput(pass *recordedPass) *tensor.Tensor {
	if m.shape.stage == documentStage {
		pass.Features = m.Input("rows", tensor.Tokens, m.shape.Tokens, m.config.HiddenSize)
		return pass.Features
	}
	return m.embed(pass)
}

// stageInputBackward records the gradient of the exported rows, or of the embedding's weights.
func (m *emitter) stageInputBackward(pass *recordedPass, dx *tensor.Tensor) {
	if m.shape.stage == documentStage {
		pass.rowsGradient = dx
		m.Keep(dx)
		return
	}
	m.embedBackward(pass, dx)
}

// zeroUnassigned clears the gradients of the parameters that the stage does not use.
func (m *emitter) zeroUnassigned() {
	for _, p := range m.params.List {
		if !m.assigned[p.Name] {
			m.Launch(tensor.Zero{Y: m.gradient(p.Name)})
		}
	}
}

// planned returns the maximum number of rows and of items (examples or chunks) of a pass for examples
// with this total number of tokens. A pass of chunks ends when its number of tokens is at least size.
func (s stage) planned(c *config.Config, tokens, examples, size int) (rows, items int) {
	if s == wholeModel {
		return tokens, examples
	}
	lengths, documents := chunkConfig(c), examples*c.Sequences()
	chunks := tokens/lengths.MinLength() + documents // each document may end with a shorter chunk
	if s == documentStage {
		return min(chunks*(c.Chunks.Exports+1), tokens+chunks), examples
	}
	rows = min(tokens, size-1+lengths.MaxLength())
	return rows, min(rows/lengths.MinLength()+documents, rows)
}

// lastStage returns the stage that computes the outputs.
func lastStage(c *config.Config) stage {
	all := stages(c)
	return all[len(all)-1]
}
