package model

import (
	"context"
	"slices"

	"github.com/sftseq/sftseq/internal/tensor"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft/config"
)

// contexts holds the contexts of chunks in a pass of a chunked model with predictions per token. The
// context g of a chunk is its pooled row after the document encoder. With x_t the row of token t after the last
// local layer, the head reads
//
//	norm(x_t + context(g))    (no norm under post-norm)
//
// where context is a linear layer, initially 0. The document stage ends with the contexts. The token
// stage computes the local layers again, because their rows are not kept, and then the head.
// [DocumentGradient] lists the steps of a gradient.
type contexts struct {
	rows     *tensor.Tensor // [targets, d] in the document stage, [B, d] in the token stage
	gradient *tensor.Tensor // gradient of rows; nil without a backward pass
	input    *tensor.Tensor // the rows of the token stage, or the gradient of the document stage; may be nil
}

// contextsBackward is the name of the first segment of the backward pass of the document stage of a
// model with predictions per token.
const contextsBackward = "contexts backward"

// tokenNorm returns the name of the norm before a head that reads the rows of tokens. With chunks it
// belongs to the head, because a model that predicts whole documents has no such norm.
func tokenNorm(c *config.Config) string {
	if c.Chunks != nil {
		return "head.norm"
	}
	return "final_norm"
}

// tokenNormParameters returns the parameters of the norm and, with chunks, of the layer of contexts.
func tokenNormParameters(c *config.Config) (out []parameter) {
	if c.NormPosition == "pre" {
		out = normParameters(tokenNorm(c), c.HiddenSize)
	}
	if c.Chunks == nil {
		return out
	}
	for i := range out {
		out[i].Part = config.PartHead
	}
	context := linearParameters(config.PartHead, "head.context", c.HiddenSize, c.HiddenSize)
	for i := range context {
		context[i].initializer = nil
	}
	return append(out, context...)
}

// recordContexts records the contexts of the rows x. A backward pass reads the gradients of the contexts,
// and recordContexts then returns the gradient of x.
func (p *recordedPass) recordContexts(m *emitter, x *tensor.Tensor) (dx *tensor.Tensor) {
	m.Segment("readout")
	n, d := m.capacity(tensor.Targets), m.config.HiddenSize
	p.TargetRow = m.Input("target.row", tensor.Targets, n)
	p.contexts = &contexts{rows: m.Temp("contexts", tensor.Targets, n, d)}
	m.Launch(tensor.Gather{Y: p.contexts.rows, X: x, Row: p.TargetRow})
	m.Keep(p.contexts.rows)
	if m.mode == InferMode {
		mean := pooling{emitter: m, pass: p, mean: true}
		p.Pooled = mean.forward(x)
		m.Keep(p.Pooled)
		m.Segment("head") // embeddings end here
	}
	if !m.mode.backward() {
		return nil
	}
	m.Segment(contextsBackward)
	p.contexts.gradient = m.Input("contexts.grad", tensor.Targets, n, d)
	p.contexts.input = p.contexts.gradient
	p.TargetOf = m.Input("target.of", tensor.Tokens, m.shape.Tokens)
	dx = m.like(x, "contexts.rows.grad")
	m.Launch(tensor.Gather{Y: dx, X: p.contexts.gradient, Row: p.TargetOf})
	return dx
}

// recordTokens records the head of the token stage for the rows x. With a backward pass, whose last
// part reads the gradients of the exported rows, it returns the gradient of x.
func (p *recordedPass) recordTokens(m *emitter, x *tensor.Tensor) (dx *tensor.Tensor) {
	if m.mode.backward() {
		m.Segment("exports")
		p.exports = m.exports(x)
	}
	m.Segment("readout")
	p.contexts = &contexts{}
	readout := objectiveOf(m.config).readout(m, p)
	dx = p.recordHead(m, &contextReadout{emitter: m, contexts: p.contexts, readout: readout}, x)
	if !m.mode.backward() {
		return nil
	}
	m.Segment(exportsBackward)
	m.Launch(tensor.Add{Y: dx, A: dx, B: p.exports.backward()})
	return dx
}

// contextsInput returns the input of [contexts]; nil without one.
func (p *recordedPass) contextsInput() *tensor.Tensor {
	if p.contexts == nil {
		return nil
	}
	return p.contexts.input
}

// contextReadout adds to each token's row the context of the token's chunk. Another readout reads the sums.
type contextReadout struct {
	*emitter
	contexts  *contexts
	projected *tensor.Tensor // [B, d]
	readout   readout
}

func (r *contextReadout) forward(x *tensor.Tensor) *tensor.Tensor {
	r.contexts.rows = r.Input("contexts", tensor.Sequences, r.shape.Sequences, r.config.HiddenSize)
	r.contexts.input = r.contexts.rows
	r.projected = r.linear("head.context", r.contexts.rows)
	y, context := r.like(x, "contextual"), r.like(x, "context")
	r.Launch(tensor.Embed{Y: context, Token: r.batch.Sequence, Weight: r.projected})
	r.Launch(tensor.Add{Y: y, A: x, B: context})
	return r.readout.forward(y)
}

func (r *contextReadout) backward(dy *tensor.Tensor) *tensor.Tensor {
	dx := r.readout.backward(dy)
	dprojected := r.like(r.projected, "head.context.output.grad")
	r.Launch(tensor.EmbedBackward{DWeight: dprojected, DY: dx, Token: r.batch.Sequence})
	r.contexts.gradient = r.like(r.contexts.rows, "contexts.grad")
	r.linearBackward("head.context", r.contexts.gradient, dprojected, r.contexts.rows, false)
	r.Keep(r.contexts.gradient)
	return dx
}

// tokenResults is [Runner.Results] for a chunked model with predictions per token.
func (r *Runner) tokenResults(ctx context.Context, examples []seq.Example, d Drawing,
	f func(at, n int, x *Result)) error {
	c := r.engine.Config
	x, err := r.readChunks(ctx, examples, 1, d)
	if err != nil {
		return err
	}
	results, contexts := make([]*Result, len(examples)), make([][]float32, len(examples))
	infer := d
	infer.Mode = documentStage.mode(c, d.Mode)
	err = r.forEachDocuments(ctx, x, 1, infer, func(ctx context.Context, l *Slot, at, n int) error {
		out, err := l.run(ctx, infer)
		if err != nil {
			return err
		}
		for i := range n {
			end := len(x.chunks[at+i]) * c.HiddenSize
			contexts[at+i], out.contexts = out.contexts[:end], out.contexts[end:]
			results[at+i] = &Result{Pooled: out.Pooled[i*c.HiddenSize : (i+1)*c.HiddenSize]}
		}
		return nil
	})
	if err != nil {
		return err
	}
	logits, losses, err := r.tokenOutputs(ctx, slices.Concat(x.chunks...), slices.Concat(contexts...), d)
	if err != nil {
		return err
	}
	sums := sumLosses(x.chunks, losses)
	for i, chunks := range x.chunks {
		results[i].Logits = slices.Concat(logits[:len(chunks)]...)
		logits = logits[len(chunks):]
		if sums != nil {
			results[i].Loss = sums[i : i+1]
		}
		f(i, 1, results[i])
	}
	return nil
}

// tokenOutputs computes the token stage for chunks with these contexts. It returns the logits of each
// chunk or, in LossMode, the loss of each chunk. Outside InferMode it leaves out chunks without targets.
func (r *Runner) tokenOutputs(ctx context.Context, chunks []docChunk, contexts []float32, d Drawing) (
	logits [][]float32, losses []float32, err error) {
	c := r.engine.Config
	var read []int // indices of the chunks to compute
	var inputs []docChunk
	var rows []float32
	for i, x := range chunks {
		if d.Mode == InferMode || x.targets() > 0 {
			read, inputs = append(read, i), append(inputs, x)
			rows = append(rows, contexts[i*c.HiddenSize:(i+1)*c.HiddenSize]...)
		}
	}
	logits = make([][]float32, len(chunks))
	if d.Mode == LossMode {
		losses = make([]float32, len(chunks))
	}
	err = r.forEachPass(ctx, tokenStage, d.Mode, plannedChunks(inputs),
		func(ctx context.Context, l *Slot, at, n int) error {
			l.batch.packTokens(c, inputs[at:at+n], rows[at*c.HiddenSize:], d)
			out, err := l.run(ctx, d)
			if err != nil {
				return err
			}
			for i, x := range inputs[at : at+n] {
				if d.Mode == LossMode {
					losses[read[at+i]] = out.Loss[i]
					continue
				}
				predicted := len(x.tokens)
				if d.Mode == FillMode {
					predicted = x.targets()
				}
				end := predicted * c.NumLabels
				logits[read[at+i]], out.Logits = out.Logits[:end], out.Logits[end:]
			}
			return nil
		})
	return logits, losses, err
}

// sumLosses returns the sum of the losses of the chunks of each document; nil without losses.
func sumLosses(documents [][]docChunk, losses []float32) (sums []float32) {
	if losses == nil {
		return nil
	}
	for _, chunks := range documents {
		sum := 0.0
		for _, x := range losses[:len(chunks)] {
			sum += float64(x)
		}
		losses = losses[len(chunks):]
		sums = append(sums, float32(sum))
	}
	return sums
}
