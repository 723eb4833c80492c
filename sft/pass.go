package sft

import (
	"fmt"

	"github.com/sftseq/sftseq/internal/passes"
	"github.com/sftseq/sftseq/internal/tensor"
	"github.com/sftseq/sftseq/sinusoid"
)

// passMode says what a pass does.
type passMode uint8

const (
	inferMode    passMode = iota // forward
	explainMode                  // forward, and what it read
	evaluateMode                 // forward and backward without noise and dropout
	trainMode                    // forward and backward with them
)

// backward reports whether a pass computes gradients.
func (m passMode) backward() bool { return m >= evaluateMode }

// passShape is the capacity of a pass: rows that fit.
type passShape struct {
	Tokens, Sequences, Sampled int
}

// recordedPass is the model recorded as a program for one shape: embed, layers, pool,
// head, and with a backward, loss and the same segments in reverse. One pass
// computes one micro-batch.
type recordedPass struct {
	Program *tensor.Program
	Batch   *tensor.Batch
	Label   *tensor.Tensor // [E] int32; nil without a backward
	Pooled  *tensor.Tensor // [B, d]
	Logits  *tensor.Tensor // [E, labels]
	Loss    *tensor.Tensor // [E]; nil without a backward
	Scale   *tensor.Tensor // [labels], of the loss that the gradient is of; nil without a backward
	// DeadRows counts, per layer, pairs of token and head without any positive
	// score; in training, nil for softmax.
	DeadRows []*tensor.Tensor

	explained *explained // in explainMode
}

func init() {
	passes.Record = func(config any, training bool, tokens, sequences int) (*tensor.Program, error) {
		c, mode := config.(*Config), inferMode
		if training {
			mode = trainMode
		}
		p, err := newPass(c, NewParameters(c), passShape{tokens, sequences, min(tokens, sequences*c.NumSampledTokens)}, mode)
		if err != nil {
			return nil, err
		}
		return p.Program, nil
	}
}

// newPass records the model for batches of at most that shape.
func newPass(c *Config, params *Parameters, shape passShape, mode passMode) (*recordedPass, error) {
	m := &emitter{Program: tensor.NewProgram(), config: c, params: params, shape: shape, mode: mode}
	if c.Relative != "none" {
		f, err := sinusoid.New(c.SinusoidBase, c.SinusoidDim)
		if err != nil {
			return nil, err
		}
		m.frequencies = f
	}
	m.batch = tensor.NewBatch(m.Program, shape.Tokens, shape.Sequences)
	pass := &recordedPass{Program: m.Program, Batch: m.batch}

	m.Segment("embed")
	x := m.tokens("embed", c.HiddenSize)
	m.Launch(tensor.Embed{Y: x, Token: m.batch.Tokens, Weight: m.weight("embed.weight")})
	if mode == explainMode {
		pass.explained = m.explain()
	}
	layers := make([]*layer, c.NumLayers)
	for l := range layers {
		m.Segment(fmt.Sprintf("layer %d", l))
		layers[l] = &layer{emitter: m, index: l, name: fmt.Sprintf("layers.%d.", l)}
		x = layers[l].forward(x)
		if s := layers[l].attn.forward.DeadRows; s != nil {
			pass.DeadRows = append(pass.DeadRows, s)
		}
		if pass.explained != nil {
			pass.explained.layer(layers[l])
		}
	}
	m.Segment("pool")
	pooling := &pooling{emitter: m}
	pass.Pooled = pooling.forward(x)
	if pass.explained != nil {
		pass.explained.pool(pooling)
	}
	m.Segment("head")
	head := c.objective().head(m)
	pass.Logits = head.forward(pass.Pooled)
	m.Keep(pass.Pooled)
	m.Keep(pass.Logits)
	if !mode.backward() {
		m.Finish()
		return pass, nil
	}

	m.Segment("loss")
	dlogits := c.objective().loss(m, pass)
	m.Keep(pass.Loss)
	m.Segment("head backward")
	dx := pooling.backward(head.backward(dlogits))
	for l := len(layers) - 1; l >= 0; l-- {
		m.Segment(fmt.Sprintf("layer %d backward", l))
		dx = layers[l].backward(dx)
	}
	m.Segment("embed backward")
	m.Launch(tensor.EmbedBackward{DWeight: m.gradient("embed.weight"), DY: dx, Token: m.batch.Tokens})
	m.Finish()
	return pass, nil
}

// embedParameters are those of the embedding.
func embedParameters(c *Config) []Parameter {
	return []Parameter{{Name: "embed.weight", Shape: []int{c.VocabSize, c.HiddenSize}, Decay: true, Part: PartEmbed,
		fresh: func(d draws, e int) float64 { return d.normal(e) }}}
}
