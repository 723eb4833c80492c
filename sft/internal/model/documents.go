package model

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/sftseq/sftseq/internal/chunk"
	"github.com/sftseq/sftseq/internal/philox"
	"github.com/sftseq/sftseq/internal/tensor"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft/config"
)

// docChunk is a chunk of a document.
type docChunk struct {
	tokens       []int32
	index, tower uint32    // address of its random numbers in training
	key          *chunkKey // with a cache of exports
}

// document is an example whose sequences are the exported rows of their chunks.
type document struct {
	example seq.Example
	rows    [2][]float32      // rows of the first and the second sequence, row-major
	sources [2][]*chunkSource // in ExplainMode
}

// chunkConfig returns the rule for cuts of a chunked model.
func chunkConfig(c *config.Config) chunk.Config {
	return chunk.Config{Rule: chunk.Rule(c.Chunks.Rule), Average: c.Chunks.Average}
}

// cut cuts the sequences of examples into chunks: element i has the chunks of sequence
// i%sequences of example i/sequences. In training, the random numbers of a chunk depend on its row,
// its side of a pair and its index in the document.
func (e *Engine) cut(examples []seq.Example, sequences int, d Drawing) [][]docChunk {
	out := make([][]docChunk, len(examples)*sequences)
	for i := range out {
		x, tower := examples[i/sequences], uint32(i%sequences)
		tokens := x.A
		if tower == 1 {
			tokens = x.B
		}
		cutter := *e.cutter // shares only the table of the hash
		for n, length := range cutter.Lengths(tokens) {
			c := docChunk{tokens: tokens[:length], tower: tower}
			if d.Mode == TrainMode {
				c.index = philox.Words(d.Seed, philox.Counter(uint32(n), tower, 0, philox.StreamChunk, x.Index, 0))[0]
			}
			out[i] = append(out[i], c)
			tokens = tokens[length:]
		}
	}
	return out
}

// cut is like [Engine.cut]. With a cache of exports, chunks have keys.
func (r *Runner) cut(ctx context.Context, examples []seq.Example, sequences int, d Drawing) [][]docChunk {
	if r.cache != nil {
		return r.cutKeyed(ctx, examples, sequences)
	}
	return r.engine.cut(examples, sequences, d)
}

// packChunks fills the batch with chunks for the local stage.
func (p *packed) packChunks(c *config.Config, chunks []docChunk, d Drawing) {
	p.reset(localStage, d)
	for _, x := range chunks {
		p.add(c, x.tokens, len(x.tokens), x.index, x.tower, d)
	}
	p.finish(len(chunks))
}

// packDocuments fills the batch with documents of this number of sequences for the document stage.
func (p *packed) packDocuments(c *config.Config, sequences int, documents []document, d Drawing) {
	p.reset(documentStage, d)
	for _, x := range documents {
		objectiveOf(c).pack(p, c, x.example, d)
		for side := range sequences {
			p.addDocument(c, len(x.rows[side])/c.HiddenSize, x.example.Index, uint32(side), d)
			p.features = append(p.features, x.rows[side]...)
			p.sources = append(p.sources, x.sources[side])
		}
		p.losses = append(p.losses, len(p.label))
	}
	p.finish(len(documents))
}

// noWeight is added to the scores of rows without a weight in a softmax.
const noWeight = -1e30

// addDocument adds a document of n exported rows. Each chunk but the last exports the same number of
// duplets before its pooled row, which alone has a weight in the pooling.
func (p *packed) addDocument(c *config.Config, n int, index, tower uint32, d Drawing) {
	p.add(c, nil, n, index, tower, d)
	chunkRows := c.Chunks.Exports + 1
	for i := range n {
		weight := float32(noWeight)
		if i%chunkRows == chunkRows-1 || i == n-1 {
			weight = 0
		}
		p.weighted = append(p.weighted, weight)
	}
}

// exports computes chunks and returns the exported rows of each, in ExplainMode with their sources.
func (l *Slot) exports(ctx context.Context, chunks []docChunk, d Drawing) ([]exported, error) {
	l.batch.packChunks(l.engine.Config, chunks, d)
	p, err := l.upload(d)
	if err != nil {
		return nil, err
	}
	if err := p.Run(ctx, l.Memory, 0, p.forwardSegments()); err != nil {
		return nil, err
	}
	out, err := p.exports.read(&l.batch, l.Memory[tensor.Arena])
	if err == nil && d.Mode == ExplainMode {
		err = p.exports.addSources(out, &l.batch, l.Memory[tensor.Arena])
	}
	return out, err
}

// join returns the documents of examples with this number of sequences. chunks has the chunks of each
// sequence, and rows the exported rows of each chunk.
func join(examples []seq.Example, sequences int, chunks [][]docChunk, rows []exported) []document {
	out := make([]document, len(examples))
	for i := range chunks {
		x, n := &out[i/sequences], len(chunks[i])
		x.example = examples[i/sequences]
		x.rows[i%sequences] = concatRows(rows[:n])
		for _, e := range rows[:n] {
			x.sources[i%sequences] = append(x.sources[i%sequences], e.source)
		}
		rows = rows[n:]
	}
	return out
}

// errNoHiddenStates is the error for a mode that chunked models do not have.
var errNoHiddenStates = errors.New("a chunked model has no hidden states of its tokens")

// forEachBatch packs examples of this number of sequences into passes of a mode and calls f for
// each with its own slot, whose batch is packed, the index of its first example and the number of
// its examples. Several calls run concurrently. The first error stops the others.
func (r *Runner) forEachBatch(ctx context.Context, examples []seq.Example, sequences int, d Drawing,
	f func(ctx context.Context, l *Slot, at, n int) error) error {
	c := r.engine.Config
	if c.Chunks == nil {
		return r.forEachPass(ctx, wholeModel, d.Mode, plannedExamples(examples),
			func(ctx context.Context, l *Slot, at, n int) error {
				l.batch.pack(c, sequences, examples[at:at+n], d, l.Packers)
				return f(ctx, l, at, n)
			})
	}
	local, kind := d, PassKind{documentStage, d.Mode}
	switch d.Mode {
	case InferMode, ExplainMode:
	case LossMode:
		local.Mode = InferMode
	default:
		return errNoHiddenStates
	}
	chunks := r.cut(ctx, examples, sequences, local)
	planned := plannedDocuments(c, sequences, chunks)
	// Both stages are planned before a slot has memory, and documents are admitted before the
	// computation of their chunks.
	r.limits(PassKind{localStage, local.Mode})
	if err := r.admit(r.limits(kind), kind, planned); err != nil {
		return fmt.Errorf("the document encoder, whose tokens are the exported rows of chunks: %w", err)
	}
	rows, err := r.exportChunks(ctx, slices.Concat(chunks...), local)
	if err != nil {
		return err
	}
	documents := join(examples, sequences, chunks, rows)
	return r.forEachPass(ctx, documentStage, d.Mode, planned,
		func(ctx context.Context, l *Slot, at, n int) error {
			l.batch.packDocuments(c, sequences, documents[at:at+n], d)
			return f(ctx, l, at, n)
		})
}
