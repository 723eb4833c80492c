package model

import (
	"fmt"

	"github.com/sftseq/sftseq/internal/tensor"
	"github.com/sftseq/sftseq/sft/config"
	"github.com/sftseq/sftseq/sinusoid"
)

// PassMode says what a pass does.
type PassMode uint8

const (
	InferMode    PassMode = iota // forward
	ExplainMode                  // forward, and what it read
	HiddenMode                   // forward, and the rows of each layer
	FillMode                     // forward, of the tokens that are the mask
	LossMode                     // forward and loss
	EvaluateMode                 // forward and backward without noise and dropout
	TrainMode                    // forward and backward with them
)

// loss reports whether a pass computes losses.
func (m PassMode) loss() bool { return m >= LossMode }

// backward reports whether a pass computes gradients.
func (m PassMode) backward() bool { return m >= EvaluateMode }

// passShape is the capacity of a pass: rows that fit.
type passShape struct {
	Tokens, Sequences, Sampled int
	Masks                      int // to be filled, in fillMode; 0 is as many as tokens
	Edges                      int // edges of the packed graphs
}

// with is the shape of a pass that has room for what fits in either.
func (s passShape) with(o passShape) passShape {
	return passShape{max(s.Tokens, o.Tokens), max(s.Sequences, o.Sequences), max(s.Sampled, o.Sampled),
		max(s.Masks, o.Masks), max(s.Edges, o.Edges)}
}

// recordedPass is the model recorded as a program for one shape: embed, layers, readout,
// head, loss, and with a backward the same segments in reverse. One pass computes one
// micro-batch.
type recordedPass struct {
	Program *tensor.Program
	Batch   *tensor.Batch
	Label   *tensor.Tensor // int32, of each row of Logits; nil without a loss, and where Target is
	Pooled  *tensor.Tensor // [B, d]; nil where nothing is pooled
	Logits  *tensor.Tensor // [E, labels], or of masked or all tokens; nil where nothing is answered
	// [E, numbers] of a regression, [E, labels] of several labels; nil otherwise, and without a loss
	Target *tensor.Tensor
	Loss   *tensor.Tensor // loss of each row of Logits; nil without a loss
	Scale  *tensor.Tensor // [labels], of the loss that the gradient is of; nil without a loss
	// Positive are weights [labels] of the loss of labels that hold; of several labels, with a loss.
	Positive *tensor.Tensor
	// Features are what the input layer reads of each token, Points where it is; nil where
	// tokens have ids, and without a relation of distances.
	Features, Points *tensor.Tensor
	Edges            *edgeInputs // nil unless the relation is edges
	NGrams           *ngramInputs
	// TargetRow is the row of each target token, TargetOf the reverse or [tensor.NoRow];
	// nil without target tokens, and without a backward pass.
	TargetRow, TargetOf *tensor.Tensor
	// PoolOffset is [tensor.Batch.SampleOffset] of what the pooling samples; nil where it samples nothing.
	PoolOffset *tensor.Tensor
	// DeadRows counts, per layer, pairs of token and head without any positive
	// score; in training, nil for softmax.
	DeadRows []*tensor.Tensor

	explained *explained       // in explainMode
	hidden    []*tensor.Tensor // [T, d], in hiddenMode
}

// RecordProgram records the forward pass of a model, or with training the forward and backward pass, for a batch of
// the given numbers of tokens and sequences.
func RecordProgram(c *config.Config, training bool, tokens, sequences int) (*tensor.Program, error) {
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

// newPass records the model for batches of at most that shape.
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
	x := m.embed(pass)
	if mode == ExplainMode {
		pass.explained = m.explain()
	}
	pass.hide(m, x)
	layers := make([]*layer, c.NumLayers)
	for l := range layers {
		m.Segment(fmt.Sprintf("layer %d", l))
		layers[l] = &layer{emitter: m, index: l, name: fmt.Sprintf("layers.%d.", l)}
		x = layers[l].forward(x)
		pass.hide(m, x)
		if s := layers[l].attn.forward.DeadRows; s != nil {
			pass.DeadRows = append(pass.DeadRows, s)
		}
		if pass.explained != nil {
			pass.explained.layer(layers[l])
		}
	}
	m.Segment("readout")
	readout, head := objectiveOf(c).readout(m, pass), objectiveOf(c).head(m)
	rows := readout.forward(x)
	if p, ok := readout.(pooled); ok {
		pass.Pooled = rows
		m.Keep(rows)
		if pass.explained != nil {
			pass.explained.pool(m, p)
		}
	}
	m.Segment("head")
	if !c.MasksTokens() || pass.Pooled == nil {
		pass.Logits = head.forward(rows)
	}
	if pass.Logits != nil && !(mode.loss() && RowLogits(c) == 0) {
		m.Keep(pass.Logits)
	}
	if !mode.loss() {
		m.Finish()
		return pass, nil
	}

	m.Segment("loss")
	dlogits := objectiveOf(c).loss(m, pass)
	m.Keep(pass.Loss)
	if !mode.backward() {
		m.Finish()
		return pass, nil
	}
	m.Segment("head backward")
	dx := readout.backward(head.backward(dlogits))
	for l := len(layers) - 1; l >= 0; l-- {
		m.Segment(fmt.Sprintf("layer %d backward", l))
		dx = layers[l].backward(dx)
	}
	m.Segment("embed backward")
	m.embedBackward(pass, dx)
	m.Finish()
	return pass, nil
}
