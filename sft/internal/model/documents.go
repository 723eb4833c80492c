package model

import (
	"context"
	"errors"
	"slices"

	"github.com/sftseq/sftseq/internal/chunk"
	"github.com/sftseq/sftseq/internal/philox"
	"github.com/sftseq/sftseq/internal/tensor"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft/config"
)

// Piece is a chunk of a document.
type Piece struct {
	tokens       []int32
	index, tower uint32 // address of its random numbers in training
}

// Document is an example whose sequences are the exported rows of their chunks.
type Document struct {
	example seq.Example
	rows    [2][]float32 // rows of the first and the second sequence, row-major
}

// chunkConfig returns the rule for cuts of a model of chunks.
func chunkConfig(c *config.Config) chunk.Config {
	return chunk.Config{Rule: chunk.Rule(c.Chunks.Rule), Average: c.Chunks.Average}
}

// pieces cuts the sequences of examples into chunks: pieces[i] has the chunks of sequence
// i%sequences of example i/sequences. In training, the random numbers of a chunk depend on its row,
// its side of a pair and its index in the document.
func (e *Engine) pieces(examples []seq.Example, sequences int, d Drawing) [][]Piece {
	out := make([][]Piece, len(examples)*sequences)
	for i := range out {
		x, tower := examples[i/sequences], uint32(i%sequences)
		tokens := x.A
		if tower == 1 {
			tokens = x.B
		}
		cutter := *e.cutter // shares only the table of the hash
		for n, length := range cutter.Lengths(tokens) {
			address := philox.Counter(uint32(n), tower, 0, philox.StreamChunk, x.Index, 0)
			index := philox.Words(d.Seed, address)[0]
			out[i] = append(out[i], Piece{tokens: tokens[:length], index: index, tower: tower})
			tokens = tokens[length:]
		}
	}
	return out
}

// packPieces fills the batch with chunks for the local stage.
func (p *packed) packPieces(c *config.Config, pieces []Piece, d Drawing) {
	p.reset(localStage, d)
	for _, x := range pieces {
		p.add(c, x.tokens, len(x.tokens), x.index, x.tower, d)
	}
	p.finish(len(pieces))
}

// packDocuments fills the batch with documents of this number of sequences for the document stage.
func (p *packed) packDocuments(c *config.Config, sequences int, documents []Document, d Drawing) {
	p.reset(documentStage, d)
	p.features = p.features[:0]
	for _, x := range documents {
		objectiveOf(c).pack(p, c, x.example, d)
		for side := range sequences {
			p.add(c, nil, len(x.rows[side])/c.HiddenSize, x.example.Index, uint32(side), d)
			p.features = append(p.features, x.rows[side]...)
		}
		p.losses = append(p.losses, len(p.label))
	}
	p.finish(len(documents))
}

// exports computes chunks and returns the exported rows of each, row-major.
func (l *Slot) exports(ctx context.Context, pieces []Piece, d Drawing) ([][]float32, error) {
	l.batch.packPieces(l.engine.Config, pieces, d)
	p, err := l.upload(d)
	if err != nil {
		return nil, err
	}
	if err := p.Run(ctx, l.Memory, 0, p.forwardSegments()); err != nil {
		return nil, err
	}
	return p.exports.read(&l.batch, l.Memory[tensor.Arena])
}

// documents computes the exports of all chunks of examples with this number of sequences.
func (r *Runner) documents(ctx context.Context, examples []seq.Example, sequences int, d Drawing) ([]Document, error) {
	cut := r.engine.pieces(examples, sequences, d)
	rows, err := r.exportRows(ctx, slices.Concat(cut...), d)
	if err != nil {
		return nil, err
	}
	return join(examples, cut, rows), nil
}

// join returns the documents of examples whose sequences have the chunks cut. rows has the exported
// rows of each chunk.
func join(examples []seq.Example, cut [][]Piece, rows [][]float32) []Document {
	out := make([]Document, len(examples))
	sequences := len(cut) / len(examples)
	for i, pieces := range cut {
		x := &out[i/sequences]
		x.example = examples[i/sequences]
		x.rows[i%sequences] = slices.Concat(rows[:len(pieces)]...)
		rows = rows[len(pieces):]
	}
	return out
}

// errNoExplanations is the error for modes that models of chunks do not have.
var errNoExplanations = errors.New("a model of chunks has no explanations or hidden states of its tokens")

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
	if d.Mode != InferMode && d.Mode != LossMode {
		return errNoExplanations
	}
	local := d
	local.Mode = InferMode
	documents, err := r.documents(ctx, examples, sequences, local)
	if err != nil {
		return err
	}
	return r.forEachPass(ctx, documentStage, d.Mode, plannedDocuments(c, documents),
		func(ctx context.Context, l *Slot, at, n int) error {
			l.batch.packDocuments(c, sequences, documents[at:at+n], d)
			return f(ctx, l, at, n)
		})
}
