package model

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/sftseq/sftseq/internal/chunk"
	"github.com/sftseq/sftseq/internal/tensor"
	"github.com/sftseq/sftseq/seq"
)

// DocumentStream scores one document, whose tokens arrive in parts, with a chunked model. It computes complete
// chunks and keeps only their exported rows. The result is bitwise identical to that of the whole
// document. A DocumentStream is not safe for concurrent use.
type DocumentStream struct {
	runner  *Runner
	ctx     context.Context
	cancel  context.CancelCauseFunc // stops the running passes
	running sync.WaitGroup
	slots   chan *Slot
	drawing Drawing
	cutter  chunk.Cutter
	limit   int64 // maximum bytes of host memory, 0 for no limit
	size    int   // maximum tokens of a pass of several chunks

	length  int           // tokens of the document
	tokens  []int32       // tokens of the next pass, then of the incomplete chunk
	chunks  []int         // lengths of the chunks of the next pass
	planned int           // planned tokens of the next pass
	begun   int           // tokens of the incomplete chunk
	rows    int           // exported rows of all complete chunks
	checked int           // exported rows that are known to fit
	passes  []*passOfRows // in the order of their chunks
}

// passOfRows holds the exported rows of the chunks of a pass, row-major.
type passOfRows struct{ rows []float32 }

// errLongDocument is the error for more exported rows than a program can count.
var errLongDocument = errors.New("the document has too many chunks (train a model with longer --chunks)")

// NewDocumentStream returns an empty document. limit bounds the host memory in bytes: the exported rows and, on a
// device without its own memory, the passes. 0 means no limit. The caller must call Close.
func (r *Runner) NewDocumentStream(ctx context.Context, limit int64) *DocumentStream {
	s := &DocumentStream{runner: r, slots: r.slots, limit: limit, cutter: *r.engine.cutter,
		drawing: Drawing{Mode: InferMode, Seed: r.engine.Config.SamplerSeed},
		size:    r.limits(PassKind{localStage, InferMode}).Size}
	if r.urgent != nil && tensor.IsUrgent(ctx) {
		s.slots = r.urgent
	}
	s.ctx, s.cancel = context.WithCancelCause(ctx)
	return s
}

// Close stops the running passes and waits for them.
func (s *DocumentStream) Close() {
	s.cancel(nil)
	s.running.Wait()
}

// Add appends tokens to the document. To start a pass, it waits for a free slot.
func (s *DocumentStream) Add(tokens []int32) error {
	if err := s.runner.engine.Config.CheckIDs(tokens, s.length); err != nil {
		return err
	}
	s.length += len(tokens)
	for len(tokens) > 0 {
		n, ends := s.cutter.Next(tokens)
		s.tokens = append(s.tokens, tokens[:n]...)
		s.begun += n
		if tokens = tokens[n:]; ends {
			if err := s.endChunk(); err != nil {
				return err
			}
		}
	}
	return context.Cause(s.ctx)
}

// endChunk ends the incomplete chunk. It starts the next pass if the pass has no room for the chunk.
func (s *DocumentStream) endChunk() error {
	size := plannedItem(s.begun).size
	if s.planned+size > s.size {
		if err := s.startPass(); err != nil {
			return err
		}
	}
	s.chunks, s.planned = append(s.chunks, s.begun), s.planned+size
	s.rows += exportedRows(s.runner.engine.Config, s.begun)
	s.begun = 0
	return nil
}

// startPass starts the next pass, if it has chunks, in a free slot.
func (s *DocumentStream) startPass() error {
	if len(s.chunks) == 0 {
		return nil
	}
	if s.rows > s.checked+s.checked/8 { // End checks all rows
		if err := s.checkMemory(); err != nil {
			return err
		}
	}
	var l *Slot
	select {
	case l = <-s.slots:
	case <-s.ctx.Done():
		return context.Cause(s.ctx)
	}
	rest, chunks := s.tokens, make([]docChunk, len(s.chunks))
	for i, n := range s.chunks {
		chunks[i].tokens, rest = rest[:n], rest[n:]
	}
	pass := &passOfRows{}
	s.passes = append(s.passes, pass)
	s.tokens, s.chunks, s.planned = append(make([]int32, 0, cap(s.tokens)), rest...), s.chunks[:0], 0
	l.Packers = s.runner.engine.packers
	s.running.Go(func() {
		defer func() { s.slots <- l }()
		chunks, err := l.exports(s.ctx, chunks, s.drawing)
		if err != nil {
			s.cancel(err)
			return
		}
		pass.rows = concatRows(chunks)
	})
	return nil
}

// checkMemory returns an error if the exported rows exceed the device's memory or the limit.
func (s *DocumentStream) checkMemory() error {
	r, kind := s.runner, PassKind{documentStage, InferMode}
	c := r.engine.Config
	if s.rows > math.MaxInt32 {
		return errLongDocument
	}
	format := "the document encoder, whose tokens are the exported rows of chunks: %w"
	if err := r.admit(r.limits(kind), kind, []passItem{plannedItem(s.rows)}); err != nil {
		return fmt.Errorf(format, err)
	}
	s.checked = s.rows
	if s.limit == 0 {
		return nil
	}
	_, own := tensor.Capability[tensor.OwnMemory](r.engine.Device)
	var local, bytes int64
	var err error
	if !own {
		longest := max(s.size, chunkConfig(c).MaxLength())
		local, err = r.engine.passBytes(PassKind{localStage, InferMode}, longest, s.size/MinTokens)
		if err != nil {
			return err
		}
	}
	fits := func(rows int) bool {
		var pass int64
		if !own {
			pass, err = r.engine.passBytes(kind, rows, 1)
		}
		// The rows exist twice while the document is packed.
		bytes = 2*int64(WordBytes*c.HiddenSize)*int64(rows) + int64(r.SlotCount())*local + pass
		return err == nil && bytes <= s.limit
	}
	if !fits(s.rows) {
		return fmt.Errorf(format, Refusal(s.limit, bytes, s.rows, err, fits))
	}
	return nil
}

// End returns the result of the document, whose tokens must all have been added.
func (s *DocumentStream) End() (*Result, error) {
	c := s.runner.engine.Config
	if s.length == 0 {
		return nil, c.CheckTokens(nil)
	}
	if s.begun > 0 {
		if err := s.endChunk(); err != nil {
			return nil, err
		}
	}
	if err := s.startPass(); err != nil {
		return nil, err
	}
	s.running.Wait()
	if err := context.Cause(s.ctx); err != nil {
		return nil, err
	}
	if err := s.checkMemory(); err != nil {
		return nil, err
	}
	var result *Result
	err := s.runner.forEachPass(s.ctx, documentStage, InferMode, []passItem{plannedItem(s.rows)},
		func(ctx context.Context, l *Slot, _, _ int) (err error) {
			s.pack(&l.batch)
			result, err = l.run(ctx, s.drawing)
			l.batch.features = nil // the slot would keep the memory
			return err
		})
	return result, err
}

// pack fills the batch with the document for the document stage, and frees the exported rows.
func (s *DocumentStream) pack(p *packed) {
	c := s.runner.engine.Config
	p.reset(documentStage, s.drawing)
	p.addLabels(c, seq.Example{Label: seq.NoLabel}, s.drawing)
	p.addDocument(c, s.rows, 0, 0, s.drawing)
	p.features = slices.Grow(p.features, s.rows*c.HiddenSize)
	for _, pass := range s.passes {
		p.features = append(p.features, pass.rows...)
	}
	s.passes = nil
	p.losses = append(p.losses, len(p.label))
	p.finish(1)
}
