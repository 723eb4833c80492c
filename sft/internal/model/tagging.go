package model

import (
	"github.com/sftseq/sftseq/internal/tensor"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft/config"
)

// tagging predicts the label of each token, its tag. With x_t the row of token t after the last
// layer:
//
//	logits_t = out(final_norm(x_t))    (no final_norm under post-norm)
//	loss     = Σ_t w_tag · (log Σ_c exp(logits_tc) − logits_t,tag)
//
// The sum is over the tokens with a tag and is divided by their number in the batch, or by 1 if
// there are none. w are the [train.Settings.ClassWeights]. A token with [seq.NoLabel] is an input
// without a loss. The embedding of a whole sequence is the mean of final_norm(x_t) over its tokens.
// With chunks the head reads other rows, and the embedding is the mean of the chunks' contexts: see
// [contexts].
//
// Source: Devlin, Chang, Lee, Toutanova, "BERT: Pre-training of Deep Bidirectional
// Transformers for Language Understanding", NAACL 2019, section 5.3.
type tagging struct{ defaultTraits }

func (tagging) parameters(c *config.Config) []parameter { return fillMask{}.parameters(c) }

func (tagging) readout(m *emitter, p *recordedPass) readout {
	if m.mode.loss() {
		return &targetRows{emitter: m, pass: p}
	}
	return &tokenRows{emitter: m, pass: p}
}

// tokenRows reads the rows of all tokens for a pass without a loss. Without chunks it also computes their mean.
type tokenRows struct {
	*emitter
	pass *recordedPass
}

func (t *tokenRows) forward(x *tensor.Tensor) *tensor.Tensor {
	if t.config.NormPosition == "pre" {
		x, _ = t.norm(tokenNorm(t.config), x)
	}
	if t.shape.stage == tokenStage {
		return x
	}
	score := t.tokens("pool.equal", 1)
	t.Launch(tensor.Zero{Y: score})
	t.pass.Pooled = t.Temp("pooled", tensor.Sequences, t.shape.Sequences, t.config.HiddenSize)
	t.Launch(tensor.Pool{Y: t.pass.Pooled, A: t.tokens("pool.weights", 1), X: x, Score: score, Batch: t.batch})
	t.Keep(t.pass.Pooled)
	return x
}

func (t *tokenRows) backward(*tensor.Tensor) *tensor.Tensor {
	panic("sft: a pass without a loss has no backward")
}

func (tagging) head(m *emitter) head { return &linearHead{emitter: m} }

func (tagging) loss(m *emitter, p *recordedPass) *tensor.Tensor { return crossEntropy(m, p) }

func (tagging) Divisor(_ *config.Config, batch []seq.Example, _ Drawing) (n int) {
	for _, e := range batch {
		n += TaggedTokens(e)
	}
	return max(1, n)
}

// TaggedTokens returns the number of an example's tokens that have a tag.
func TaggedTokens(e seq.Example) (n int) {
	for _, label := range e.Labels {
		if label != seq.NoLabel {
			n++
		}
	}
	return n
}

func (tagging) evaluation() PassMode { return InferMode }

func (tagging) targets(_ *config.Config, e seq.Example, d Drawing) (input, labels []int32) {
	if !d.Mode.loss() {
		return e.A, nil
	}
	return e.A, e.Labels
}

// weightLosses multiplies the loss of each token by the weight of its label.
func (tagging) weightLosses(b *packed, losses []float32, weight []float64) {
	if len(weight) == 0 {
		return
	}
	for i := range losses {
		losses[i] = float32(float64(losses[i]) * weight[b.label[i]])
	}
}

// read counts one pooled row per sequence and one row of logits per token, and none for a pass with a loss.
func (tagging) read(p *recordedPass, b *packed) (pooled, logits int) {
	if p.Loss != nil {
		return 0, 0
	}
	return len(b.example), int(b.counts.Tokens)
}

func (tagging) targetCapacity(_ *config.Config, tokens, _ int) int { return tokens }
