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
	labels       []int32   // label of each token, see tokenObjective; nil without targets
	index, tower uint32    // address of its random numbers in training
	key          *chunkKey // nil without a cache of exports
}

// targets returns the number of target tokens.
func (c *docChunk) targets() (n int) {
	for _, label := range c.labels {
		if label != seq.NoLabel {
			n++
		}
	}
	return n
}

// document is an example whose sequences are the exported rows of their chunks.
type document struct {
	example seq.Example
	rows    [2][]float32      // rows of the first and the second sequence, row-major
	sources [2][]*chunkSource // source of each chunk's rows, for ExplainMode
}

// chunkConfig returns the rule for cuts of a chunked model.
func chunkConfig(c *config.Config) chunk.Config {
	return chunk.Config{Rule: chunk.Rule(c.Chunks.Rule), Average: c.Chunks.Average}
}

// cut cuts the sequences of examples into chunks: element i has the chunks of sequence
// i%sequences of example i/sequences. Masking for a loss does not move cuts. In training, the random numbers of
// a chunk depend on its row, its side of a pair and its index in the document.
func (e *Engine) cut(examples []seq.Example, sequences int, d Drawing) [][]docChunk {
	out := make([][]docChunk, len(examples)*sequences)
	for i := range out {
		x, tower := examples[i/sequences], uint32(i%sequences)
		tokens := x.A
		if tower == 1 {
			tokens = x.B
		}
		input, labels := tokens, []int32(nil)
		if o, ok := objectiveOf(e.Config).(tokenObjective); ok {
			input, labels = o.targets(e.Config, x, d)
		}
		cutter := *e.cutter // shares only the table of the hash
		for n, length := range cutter.Lengths(tokens) {
			c := docChunk{tokens: input[:length], tower: tower}
			input = input[length:]
			if labels != nil {
				c.labels, labels = labels[:length], labels[length:]
			}
			if d.Mode == TrainMode {
				c.index = philox.Words(d.Seed, philox.Counter(uint32(n), tower, 0, philox.StreamChunk, x.Index, 0))[0]
			}
			out[i] = append(out[i], c)
		}
	}
	return out
}

// cut is like [Engine.cut]. With a cache of exports, the chunks in InferMode and ExplainMode have keys.
func (r *Runner) cut(ctx context.Context, examples []seq.Example, sequences int, d Drawing) [][]docChunk {
	if r.cache != nil && d.Mode <= ExplainMode {
		return r.cutKeyed(ctx, examples, sequences)
	}
	return r.engine.cut(examples, sequences, d)
}

// packChunks fills the batch with chunks for the local stage or the token stage.
func (p *packed) packChunks(c *config.Config, s stage, chunks []docChunk, d Drawing) {
	p.reset(s, d)
	for _, x := range chunks {
		if s == tokenStage {
			p.addTargets(x.labels)
		}
		p.add(c, x.tokens, len(x.tokens), x.index, x.tower, d)
		p.losses = append(p.losses, len(p.label))
	}
	p.finish(len(chunks))
}

// packTokens fills the batch with chunks for the token stage. The first contexts belong to these
// chunks; packTokens returns the remaining contexts.
func (p *packed) packTokens(c *config.Config, chunks []docChunk, contexts []float32, d Drawing) (others []float32) {
	p.packChunks(c, tokenStage, chunks, d)
	n := len(chunks) * c.HiddenSize
	p.contexts = append(p.contexts, contexts[:n]...)
	return contexts[n:]
}

// packDocuments fills the batch with documents of this number of sequences for the document stage.
func (p *packed) packDocuments(c *config.Config, sequences int, documents []document, d Drawing) {
	p.reset(documentStage, d)
	for _, x := range documents {
		if !hasContexts(c) {
			p.addLabels(c, x.example, d)
		}
		for side := range sequences {
			p.addDocument(c, len(x.rows[side])/c.HiddenSize, x.example.Index, uint32(side), d)
			p.features = append(p.features, x.rows[side]...)
			p.sources = append(p.sources, x.sources[side])
		}
		p.losses = append(p.losses, len(p.label))
	}
	p.finish(len(documents))
}

// noWeight is added to the scores of rows whose weight in a softmax must be 0.
const noWeight = -1e30

// addDocument adds a document of n exported rows. Each chunk but the last exports the same number of
// duplets before its pooled row, which alone has a weight in the pooling.
func (p *packed) addDocument(c *config.Config, n int, index, tower uint32, d Drawing) {
	from := len(p.position)
	p.add(c, nil, n, index, tower, d)
	chunkRows := c.Chunks.Exports + 1
	for i := range n {
		weight, target := float32(noWeight), int32(tensor.NoRow)
		if i%chunkRows == chunkRows-1 || i == n-1 {
			weight, target = 0, int32(len(p.targetRow))
			if hasContexts(c) {
				p.targetRow = append(p.targetRow, int32(from+i))
			}
		}
		p.weighted = append(p.weighted, weight)
		if hasContexts(c) {
			p.targetOf = append(p.targetOf, target)
		}
	}
}

// exports computes chunks and returns the exported rows of each, in ExplainMode with their sources.
func (l *Slot) exports(ctx context.Context, chunks []docChunk, d Drawing) ([]exported, error) {
	l.batch.packChunks(l.engine.Config, localStage, chunks, d)
	p, err := l.forward(ctx, d)
	if err != nil {
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

// Errors for modes that chunked models do not have.
var (
	errNoHiddenStates      = errors.New("a chunked model has no hidden states of its tokens")
	ErrNoTokenExplanations = errors.New("a chunked model that predicts tags has no explanations")
)

// forEachBatch packs examples of this number of sequences into passes of a mode. For each pass it calls
// f with a slot that holds the packed batch, the index of the first example and the number of examples.
// Several calls run concurrently. The first error stops the other calls.
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
	x, err := r.readChunks(ctx, examples, sequences, d)
	if err != nil {
		return err
	}
	return r.forEachDocuments(ctx, x, sequences, d, f)
}

// readDocuments holds documents whose chunks are computed.
type readDocuments struct {
	documents []document
	chunks    [][]docChunk // chunks of each sequence
	planned   []passItem
}

// readChunks cuts examples of this number of sequences and computes their chunks for passes of a mode.
func (r *Runner) readChunks(ctx context.Context, examples []seq.Example, sequences int, d Drawing) (*readDocuments,
	error) {
	c := r.engine.Config
	switch {
	case d.Mode == HiddenMode:
		return nil, errNoHiddenStates
	case d.Mode == ExplainMode && hasContexts(c):
		return nil, ErrNoTokenExplanations
	}
	local, kind := d, PassKind{documentStage, documentStage.mode(c, d.Mode)}
	local.Mode = localStage.mode(c, d.Mode)
	chunks := r.cut(ctx, examples, sequences, d)
	planned := plannedDocuments(c, sequences, chunks)
	// All stages are planned before a slot has memory, and documents are admitted before the
	// computation of their chunks.
	for _, s := range stages(c) {
		r.limits(PassKind{s, s.mode(c, d.Mode)})
	}
	if err := r.admit(r.limits(kind), kind, planned); err != nil {
		return nil, fmt.Errorf("the document encoder, whose tokens are the exported rows of chunks: %w", err)
	}
	rows, err := r.exportChunks(ctx, slices.Concat(chunks...), local)
	if err != nil {
		return nil, err
	}
	return &readDocuments{join(examples, sequences, chunks, rows), chunks, planned}, nil
}

// forEachDocuments is [Runner.forEachBatch] for documents whose chunks are computed.
func (r *Runner) forEachDocuments(ctx context.Context, x *readDocuments, sequences int, d Drawing,
	f func(ctx context.Context, l *Slot, at, n int) error) error {
	return r.forEachPass(ctx, documentStage, d.Mode, x.planned,
		func(ctx context.Context, l *Slot, at, n int) error {
			l.batch.packDocuments(r.engine.Config, sequences, x.documents[at:at+n], d)
			return f(ctx, l, at, n)
		})
}
