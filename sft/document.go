package sft

import (
	"context"
	"errors"
	"fmt"
	"io"

	linearmodel "github.com/sftseq/sftseq/internal/linear"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft/config"
	"github.com/sftseq/sftseq/sft/internal/model"
)

// errNoStream is the beginning of the errors for models that cannot score a document in parts.
var errNoStream = errors.New("expected a chunked model (sftseq train custom --chunks N) or a linear model, " +
	"which read a document in parts")

// CanScoreDocument returns an error if [Scorer.ScoreDocument] does not support the model or one of several models.
func (s *Scorer) CanScoreDocument() error {
	for _, member := range s.members() {
		c := member.Config()
		if err := c.CheckHasPredictions(); err != nil {
			return err
		}
		switch {
		case c.PerToken():
			return fmt.Errorf("%w: found a model of tags (task %s)", errNoStream, c.Task)
		case c.Sequences() == 2:
			return fmt.Errorf("%w: found a model of pairs", errNoStream)
		case member.linear == nil && c.Chunks == nil:
			return fmt.Errorf("%w: found a model without chunks", errNoStream)
		case c.InputWindow != nil:
			return fmt.Errorf("%w: found a model with an input window of %d tokens", errNoStream, c.InputWindow.Length)
		}
	}
	return nil
}

// members returns the scorers of all models, the first model first.
func (s *Scorer) members() []*Scorer { return append([]*Scorer{s}, s.others...) }

// ScoreDocument scores one sequence that arrives in parts. Its output is bitwise identical to the
// output of [Scorer.Examples] for the whole sequence.
//
// The function next returns the next tokens, which it may overwrite in the next call, and [io.EOF] with or
// after the last tokens. The sequence may be longer than the configuration allows, because a chunked model
// keeps only the exported rows of chunks. The parameter memory is the maximum size in bytes of these rows
// and of the passes of a CPU device; 0 means no limit. An empty sequence is an error.
func (s *Scorer) ScoreDocument(ctx context.Context, memory int64, next func() ([]int32, error)) (Output, error) {
	if err := s.CanScoreDocument(); err != nil {
		return Output{}, err
	}
	var streams []documentStream
	for _, member := range s.members() {
		streams = append(streams, member.newDocumentStream(ctx, memory/int64(s.Members())))
		defer streams[len(streams)-1].close()
	}
	for {
		tokens, err := next()
		if err != nil && err != io.EOF {
			return Output{}, err
		}
		for i, d := range streams {
			if err := d.add(tokens); err != nil {
				return Output{}, s.memberError(i, err)
			}
		}
		if ctx.Err() != nil {
			return Output{}, context.Cause(ctx)
		}
		if err == io.EOF {
			break
		}
	}
	all := make([][]Output, len(streams))
	for i, d := range streams {
		out, err := d.output()
		if err != nil {
			return Output{}, s.memberError(i, err)
		}
		all[i] = []Output{out}
	}
	if s.others == nil && s.fusion == nil {
		return all[0][0], nil
	}
	return s.Combine(all)[0], nil
}

// memberError adds the index of a model, from 1, to an error about memory, if the scorer has several
// models.
func (s *Scorer) memberError(i int, err error) error {
	var memory *config.MemoryError
	if !errors.As(err, &memory) || s.others == nil {
		return err
	}
	return fmt.Errorf("model %d of %d: %w", i+1, s.Members(), err)
}

// documentStream is a document that one model reads in parts.
type documentStream interface {
	add(tokens []int32) error
	output() (Output, error)
	close()
}

// newDocumentStream starts a document of the scorer's first model, with this memory limit in bytes.
func (s *Scorer) newDocumentStream(ctx context.Context, memory int64) documentStream {
	if s.linear != nil {
		return &linearDocument{scorer: s.linear, stream: s.linear.model.NewStream()}
	}
	return &chunkedDocument{s, s.runner.NewDocumentStream(ctx, memory)}
}

// chunkedDocument is a document of a chunked model.
type chunkedDocument struct {
	scorer *Scorer
	*model.DocumentStream
}

func (d *chunkedDocument) add(tokens []int32) error { return d.Add(tokens) }
func (d *chunkedDocument) close()                   { d.Close() }

func (d *chunkedDocument) output() (Output, error) {
	r, err := d.End()
	if err != nil {
		return Output{}, err
	}
	var out [1]Output
	d.scorer.split(r, make([]seq.Example, 1), out[:])
	return out[0], nil
}

// linearDocument is a document of a linear model.
type linearDocument struct {
	scorer *linearScorer
	stream *linearmodel.Stream
	length int // tokens
}

func (d *linearDocument) add(tokens []int32) error {
	if err := d.scorer.config.CheckIDs(tokens, d.length); err != nil {
		return err
	}
	d.length += len(tokens)
	d.stream.Add(tokens)
	return nil
}

func (d *linearDocument) close() {}

func (d *linearDocument) output() (Output, error) {
	if d.length == 0 {
		return Output{}, d.scorer.config.CheckTokens(nil)
	}
	return d.scorer.outputOf(d.stream.Logits()), nil
}
