package model

import (
	"context"
	"errors"
	"slices"

	"github.com/sftseq/sftseq/internal/distributed"
	"github.com/sftseq/sftseq/internal/sparse"
	"github.com/sftseq/sftseq/internal/tensor"
	"github.com/sftseq/sftseq/seq"
)

// DocumentGradient computes the gradient of a micro-batch of documents in these steps:
//
//  1. The local stage computes the exports of all chunks, in runs of about MicroBatchTokens tokens.
//  2. If the model has predictions per token, the document stage computes the contexts, and the token stage
//     their gradients.
//  3. The document stage computes the gradients of its parameters and of the exported rows.
//  4. The local stage, or the token stage, computes its runs again with the backward pass, because its
//     activations are not kept.
type DocumentGradient struct {
	slot   *Slot
	chunks [][]docChunk // chunks of each sequence
	runs   [][]docChunk // remaining runs
	d      Drawing

	result   *Result
	deadRows []int64   // dead rows of the local layers, summed over the runs
	rows     []float32 // gradients of the exported rows of the remaining runs
	contexts []float32 // contexts of the remaining runs
	losses   []float32 // losses of the chunks, for a model with predictions per token
}

// StartDocuments computes the steps before the last one, and writes the gradient of the document stage to the
// slot's gradients.
func (l *Slot) StartDocuments(ctx context.Context, examples []seq.Example, d Drawing) (*DocumentGradient, error) {
	c := l.engine.Config
	g := &DocumentGradient{slot: l, d: d}
	documents, err := g.exports(ctx, examples)
	if err != nil {
		return nil, err
	}
	var gradients []float32
	if hasContexts(c) {
		if gradients, err = g.contextGradients(ctx, documents); err != nil {
			return nil, err
		}
	}
	l.batch.packDocuments(c, c.Sequences(), documents, d)
	l.batch.contexts = append(l.batch.contexts, gradients...)
	if g.result, err = l.run(ctx, d); err != nil {
		return nil, err
	}
	g.rows = g.result.rowsGradient
	return g, nil
}

// contextGradients computes the contexts of all chunks and returns their gradients.
func (g *DocumentGradient) contextGradients(ctx context.Context, documents []document) (gradients []float32,
	err error) {
	l := g.slot
	c := l.engine.Config
	l.batch.packDocuments(c, 1, documents, g.d)
	p, err := l.forward(ctx, g.d)
	if err != nil {
		return nil, err
	}
	if g.contexts, err = l.contexts(p); err != nil {
		return nil, err
	}
	rest := g.contexts
	for _, run := range g.runs {
		rest = l.batch.packTokens(c, run, rest, g.d)
		if p, err = l.forward(ctx, g.d); err != nil {
			return nil, err
		}
		x := make([]float32, len(run)*c.HiddenSize)
		if err := tensor.Download(l.Memory[tensor.Arena], p.contexts.gradient, x); err != nil {
			return nil, err
		}
		gradients = append(gradients, x...)
	}
	return gradients, nil
}

// contexts returns the contexts of the documents of a computed pass.
func (l *Slot) contexts(p *preparedPass) ([]float32, error) {
	rows := make([]float32, int(l.batch.counts.Targets)*p.contexts.rows.Width())
	return rows, tensor.Download(l.Memory[tensor.Arena], p.contexts.rows, rows)
}

// forward computes the segments of the packed batch before the first segment that reads gradients of
// another stage: see forwardSegments.
func (l *Slot) forward(ctx context.Context, d Drawing) (*preparedPass, error) {
	p, err := l.upload(d)
	if err == nil {
		err = p.Run(ctx, l.Memory, 0, p.forwardSegments())
	}
	return p, err
}

// exports cuts examples into chunks and returns the documents of their exported rows.
func (g *DocumentGradient) exports(ctx context.Context, examples []seq.Example) ([]document, error) {
	e := g.slot.engine
	sequences := e.Config.Sequences()
	g.chunks = e.cut(examples, sequences, g.d)
	g.runs = chunkRuns(slices.Concat(g.chunks...))
	var rows []exported
	for _, run := range g.runs {
		exports, err := g.slot.exports(ctx, run, g.d)
		if err != nil {
			return nil, err
		}
		rows = append(rows, exports...)
	}
	return join(examples, sequences, g.chunks, rows), nil
}

// chunkRuns divides chunks into runs. A run ends with the first chunk at which it has at least
// MicroBatchTokens tokens.
func chunkRuns(chunks []docChunk) (runs [][]docChunk) {
	lengths := make([]int, len(chunks))
	for i, x := range chunks {
		lengths[i] = len(x.tokens)
	}
	from := 0
	for _, end := range distributed.MicroBatches(lengths, MicroBatchTokens) {
		runs = append(runs, chunks[from:end])
		from = end
	}
	return runs
}

// Next writes the gradient of the next run of chunks to the slot's gradients, or returns false if no
// run remains.
func (g *DocumentGradient) Next(ctx context.Context) (bool, error) {
	if len(g.runs) == 0 {
		return false, nil
	}
	l, run := g.slot, g.runs[0]
	g.runs = g.runs[1:]
	if hasContexts(l.engine.Config) {
		g.contexts = l.batch.packTokens(l.engine.Config, run, g.contexts, g.d)
	} else {
		l.batch.packChunks(l.engine.Config, localStage, run, g.d)
	}
	p, err := l.upload(g.d)
	if err != nil {
		return false, err
	}
	if g.rows, err = p.exports.uploadGradient(&l.batch, g.rows, l.Memory[tensor.Inputs]); err != nil {
		return false, err
	}
	if err := p.Run(ctx, l.Memory, 0, len(p.Program.Segments)); err != nil {
		return false, err
	}
	local, err := l.results(p, &l.batch)
	if err != nil {
		return false, err
	}
	g.losses = append(g.losses, local.Loss...)
	g.result.NGrams = sparse.Add(g.result.NGrams, local.NGrams)
	g.deadRows = addCounts(g.deadRows, local.DeadRows)
	return true, nil
}

// Result returns the results of the examples, after the last run.
func (g *DocumentGradient) Result() *Result {
	g.result.DeadRows = append(g.deadRows, g.result.DeadRows...)
	if hasContexts(g.slot.engine.Config) {
		g.result.Loss = sumLosses(g.chunks, g.losses)
	}
	return g.result
}

// addCounts adds the counts b to the counts a and returns a. If a is nil, it returns b.
func addCounts(a, b []int64) []int64 {
	if a == nil {
		return b
	}
	for i := range a {
		a[i] += b[i]
	}
	return a
}

// uploadGradient writes the gradients of the exported rows of a batch and returns the remaining
// gradients.
func (e *exports) uploadGradient(b *packed, rows []float32, inputs tensor.Memory) (remaining []float32, err error) {
	d := e.config.HiddenSize
	var duplets, pooled []float32
	for i := range b.example {
		n := int(b.poolOffset[i+1]-b.poolOffset[i]) * d
		duplets, pooled, rows = append(duplets, rows[:n]...), append(pooled, rows[n:n+d]...), rows[n+d:]
	}
	return rows, errors.Join(tensor.Upload(inputs, e.dduplet, duplets), tensor.Upload(inputs, e.dpooled, pooled))
}

// diagnoseChunks returns the name of the first tensor with a value that is not finite, or "".
func (l *Slot) diagnoseChunks(ctx context.Context, examples []seq.Example, d Drawing) (name string, err error) {
	c := l.engine.Config
	g := &DocumentGradient{slot: l, d: d}
	documents, err := g.exports(ctx, examples)
	if err != nil {
		return "", err
	}
	inspect := func() (p *preparedPass, name string, err error) {
		if p, err = l.upload(d); err == nil {
			name, err = l.inspect(ctx, p)
		}
		return p, name, err
	}
	for _, run := range g.runs {
		l.batch.packChunks(c, localStage, run, d)
		if _, name, err := inspect(); name != "" || err != nil {
			return name, err
		}
	}
	l.batch.packDocuments(c, c.Sequences(), documents, d)
	p, name, err := inspect()
	if name != "" || err != nil || !hasContexts(c) {
		return name, err
	}
	contexts, err := l.contexts(p)
	if err != nil {
		return "", err
	}
	for _, run := range g.runs {
		contexts = l.batch.packTokens(c, run, contexts, d)
		if _, name, err := inspect(); name != "" || err != nil {
			return name, err
		}
	}
	return "", nil
}
