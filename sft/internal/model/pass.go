package model

import (
	"errors"
	"fmt"
	"slices"

	"github.com/sftseq/sftseq/internal/tensor"
	"github.com/sftseq/sftseq/sft/config"
	"github.com/sftseq/sftseq/sinusoid"
)

// PassMode selects the computation of a pass.
type PassMode uint8

const (
	InferMode    PassMode = iota // forward
	ExplainMode                  // forward, with an explanation
	HiddenMode                   // forward, keeping the rows of each layer
	FillMode                     // forward, predicting the mask tokens of the input
	LossMode                     // forward and loss
	EvaluateMode                 // forward, loss and backward, with the random numbers of an evaluation
	TrainMode                    // forward, loss and backward, with noise and dropout
)

// loss reports whether a pass computes losses.
func (m PassMode) loss() bool { return m >= LossMode }

// backward reports whether a pass computes gradients.
func (m PassMode) backward() bool { return m >= EvaluateMode }

// passShape is the stage of a pass and its capacity in rows.
type passShape struct {
	stage                      stage
	Tokens, Sequences, Sampled int
	Masks                      int // mask tokens to fill, in FillMode; 0 means the number of tokens
	Edges                      int // edges of the packed graphs
}

// union returns the smallest shape with the capacity of both s and o, which have the same stage.
func (s passShape) union(o passShape) passShape {
	return passShape{s.stage, max(s.Tokens, o.Tokens), max(s.Sequences, o.Sequences), max(s.Sampled, o.Sampled),
		max(s.Masks, o.Masks), max(s.Edges, o.Edges)}
}

// recordedPass is a stage of the model recorded as a program for one shape. The program of the whole
// model consists of embedding, layers, readout, head and loss, followed by the same segments in reverse for
// a backward pass. A pass computes one micro-batch.
type recordedPass struct {
	Program *tensor.Program
	Batch   *tensor.Batch
	Label   *tensor.Tensor // int32 label of each row of Logits; nil without a loss or with Target
	Pooled  *tensor.Tensor // [B, d]; nil without pooling
	Logits  *tensor.Tensor // [E, labels], or a row per masked token or per token; nil if nothing is predicted
	// Target is [E, numbers] for a regression, [E, labels] for multi-label; otherwise, and without
	// a loss, nil.
	Target *tensor.Tensor
	Loss   *tensor.Tensor // loss of each row of Logits; nil without a loss
	Scale  *tensor.Tensor // [labels], factors of the loss in the backward pass; nil without a loss
	// Positive holds the weights [labels] of positive labels, for multi-label with a loss.
	Positive *tensor.Tensor
	// Features holds the values that the input layer reads per token, in the document stage the
	// exported rows; nil if tokens have ids.
	// Points holds the positions of the tokens, and their normals if the data have them; nil
	// without a relation of distances.
	Features, Points *tensor.Tensor
	// Weighted is [T, 1]: 0 for rows with a weight in the pooling, noWeight for other rows; nil unless the
	// document stage has a [pooling].
	Weighted *tensor.Tensor
	Edges    *edgeInputs // nil unless the relation is edges
	NGrams   *ngramInputs
	// TargetRow holds the row of each target token; nil without target tokens. TargetOf holds the
	// index in TargetRow of each row, or [tensor.NoRow]; nil without a backward pass.
	TargetRow, TargetOf *tensor.Tensor
	// PoolOffset is [tensor.Batch.SampleOffset] of the tokens that the pooling samples; nil if it
	// does not sample.
	PoolOffset *tensor.Tensor
	// DeadRows counts, per layer, pairs of token and head without a positive score; nil for softmax
	// and outside TrainMode.
	DeadRows []*tensor.Tensor

	exports      *exports         // in the local stage, and in the token stage with a backward pass
	contexts     *contexts        // in the document and token stages of a model that predicts tokens
	rowsGradient *tensor.Tensor   // [T, d] gradient of Features in the document stage
	explained    *explained       // in ExplainMode
	hidden       []*tensor.Tensor // [T, d], in HiddenMode
}

// RecordProgram records the forward pass of a model for this number of tokens and sequences, and
// with training also the backward pass.
func RecordProgram(c *config.Config, training bool, tokens, sequences int) (*tensor.Program, error) {
	if c.Chunks != nil {
		return nil, errors.New("a chunked model has a program for chunks and another for documents, " +
			"expected a model without chunks")
	}
	mode := InferMode
	if training {
		mode = TrainMode
	}
	shape := passShape{Tokens: tokens, Sequences: sequences, Sampled: min(tokens, sequences*c.NumSampledTokens),
		Edges: edgeCapacity(c, PlannedEdges*tokens)}
	p, err := newPass(c, NewParameters(c), shape, mode)
	if err != nil {
		return nil, err
	}
	return p.Program, nil
}

// newPass records a stage of the model for batches of at most this shape.
func newPass(c *config.Config, params *config.Parameters, shape passShape, mode PassMode) (*recordedPass, error) {
	m := newEmitter(c, params, shape, mode)
	if c.Relative == config.SinusoidRelation {
		f, err := sinusoid.New(c.SinusoidBase, c.SinusoidDim)
		if err != nil {
			return nil, err
		}
		m.frequencies = f
	}
	pass := &recordedPass{Program: m.Program, Batch: m.batch}

	m.Segment("embed")
	x := m.stageInput(pass)
	if mode == ExplainMode {
		pass.explained = m.explain()
	}
	pass.keepHidden(m, x)
	var layers []*layer
	for l, to := shape.stage.layers(c); l < to; l++ {
		m.Segment(fmt.Sprintf("layer %d", l))
		layer := &layer{emitter: m, index: l, name: fmt.Sprintf("layers.%d.", l)}
		layers = append(layers, layer)
		x = layer.forward(x)
		pass.keepHidden(m, x)
		if s := layer.attn.forward.DeadRows; s != nil {
			pass.DeadRows = append(pass.DeadRows, s)
		}
		if pass.explained != nil && shape.stage == wholeModel && c.HasAttention() {
			pass.explained.layer(layer)
		}
	}
	var dx *tensor.Tensor
	switch {
	case shape.stage == localStage:
		dx = pass.recordExports(m, x)
	case shape.stage == documentStage && hasContexts(c):
		dx = pass.recordContexts(m, x)
	case shape.stage == tokenStage:
		dx = pass.recordTokens(m, x)
	default:
		dx = pass.recordOutputs(m, x)
	}
	if mode.backward() {
		for _, l := range slices.Backward(layers) {
			m.Segment(fmt.Sprintf("layer %d backward", l.index))
			dx = l.backward(dx)
		}
		m.Segment("embed backward")
		m.stageInputBackward(pass, dx)
		m.zeroUnassigned()
	}
	m.Finish()
	return pass, nil
}

// recordExports records the exports of the rows x. With a backward pass it returns the gradient of
// x.
func (p *recordedPass) recordExports(m *emitter, x *tensor.Tensor) (dx *tensor.Tensor) {
	m.Segment("exports")
	p.exports = m.exports(x)
	if m.mode == ExplainMode {
		p.exports.keepSources()
	}
	if !m.mode.backward() {
		return nil
	}
	m.Segment(exportsBackward)
	return p.exports.backward()
}

// recordOutputs records the readout of the rows x, the head and the loss. With a backward pass it returns
// the gradient of x.
func (p *recordedPass) recordOutputs(m *emitter, x *tensor.Tensor) (dx *tensor.Tensor) {
	m.Segment("readout")
	return p.recordHead(m, objectiveOf(m.config).readout(m, p), x)
}

// recordHead records a readout of the rows x, the head and the loss. With a backward pass it returns the
// gradient of x.
func (p *recordedPass) recordHead(m *emitter, readout readout, x *tensor.Tensor) (dx *tensor.Tensor) {
	head := objectiveOf(m.config).head(m)
	rows := readout.forward(x)
	if r, ok := readout.(pooledReadout); ok {
		p.Pooled = rows
		m.Keep(rows)
		if p.explained != nil {
			p.explained.pool(m, r)
		}
	}
	m.Segment("head")
	if !m.config.MasksTokens() || p.Pooled == nil {
		p.Logits = head.forward(rows)
	}
	if p.Logits != nil && !(m.mode.loss() && RowLogits(m.config) == 0) {
		m.Keep(p.Logits)
	}
	if !m.mode.loss() {
		return nil
	}
	m.Segment("loss")
	dlogits := objectiveOf(m.config).loss(m, p)
	m.Keep(p.Loss)
	if !m.mode.backward() {
		return nil
	}
	m.Segment("head backward")
	return readout.backward(head.backward(dlogits))
}
