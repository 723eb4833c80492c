package model

import (
	"context"
	"errors"

	"github.com/sftseq/sftseq/internal/distributed"
	"github.com/sftseq/sftseq/internal/sparse"
	"github.com/sftseq/sftseq/internal/tensor"
	"github.com/sftseq/sftseq/seq"
)

// DocumentGradient computes the gradient of a micro-batch of documents in three steps. The local
// stage computes the exports of all chunks, in runs of about MicroBatchTokens tokens. The document
// stage computes the gradients of its parameters and of the exported rows. The local stage then runs
// again with its backward pass, because its activations are not kept.
type DocumentGradient struct {
	slot *Slot
	runs [][]Piece
	d    Drawing

	rows []float32 // gradients of the exported rows of the remaining runs
}

// StartDocuments computes the first two steps: the gradient of the document stage, which it writes
// to the slot's gradients, and the results of the examples.
func (l *Slot) StartDocuments(ctx context.Context, examples []seq.Example, d Drawing) (*DocumentGradient, *Result,
	error) {
	c := l.engine.Config
	g := &DocumentGradient{slot: l, d: d}
	documents, err := g.exports(ctx, examples)
	if err != nil {
		return nil, nil, err
	}
	l.batch.packDocuments(c, c.Sequences(), documents, d)
	result, err := l.run(ctx, d)
	if err != nil {
		return nil, nil, err
	}
	g.rows = result.rowsGradient
	return g, result, nil
}

// exports computes the exports of the chunks of examples.
func (g *DocumentGradient) exports(ctx context.Context, examples []seq.Example) ([]Document, error) {
	e := g.slot.engine
	cut := e.pieces(examples, e.Config.Sequences(), g.d)
	g.runs = pieceRuns(cut)
	var rows [][]float32
	for _, run := range g.runs {
		exports, err := g.slot.exports(ctx, run, g.d)
		if err != nil {
			return nil, err
		}
		rows = append(rows, exports...)
	}
	return join(examples, cut, rows), nil
}

// pieceRuns divides chunks into runs. A run ends with the chunk that reaches MicroBatchTokens tokens.
func pieceRuns(cut [][]Piece) (runs [][]Piece) {
	var all []Piece
	var lengths []int
	for _, pieces := range cut {
		for _, p := range pieces {
			all, lengths = append(all, p), append(lengths, len(p.tokens))
		}
	}
	from := 0
	for _, end := range distributed.MicroBatches(lengths, MicroBatchTokens) {
		runs = append(runs, all[from:end])
		from = end
	}
	return runs
}

// Next writes the gradient of the next run of chunks to the slot's gradients. It adds the n-gram
// gradient and the dead rows of the run to r. It returns false without a further run.
func (g *DocumentGradient) Next(ctx context.Context, r *Result) (bool, error) {
	if len(g.runs) == 0 {
		return false, nil
	}
	l, run := g.slot, g.runs[0]
	g.runs = g.runs[1:]
	l.batch.packPieces(l.engine.Config, run, g.d)
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
	r.NGrams = sparse.Add(r.NGrams, local.NGrams)
	r.localDeadRows = addCounts(r.localDeadRows, local.DeadRows)
	return true, nil
}

// Finish completes the results after the last run.
func (g *DocumentGradient) Finish(r *Result) { r.DeadRows = append(r.localDeadRows, r.DeadRows...) }

// addCounts returns the sums of two lists of counts. Without a first list it returns the second.
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
	for _, run := range g.runs {
		l.batch.packPieces(c, run, d)
		if name, err := l.inspect(ctx, d); name != "" || err != nil {
			return name, err
		}
	}
	l.batch.packDocuments(c, c.Sequences(), documents, d)
	return l.inspect(ctx, d)
}
