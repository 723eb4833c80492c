package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/sftseq/sftseq/internal/jsonlines"
	"github.com/sftseq/sftseq/internal/requests"
)

// A batch holds at most so much; one line may go beyond.
const (
	batchLines  = 256
	batchTokens = 1 << 16
)

// stream answers JSON lines in their order. It reads ahead while the model
// runs: a batch is what came in while the one before was answered. So a person
// at a terminal gets each answer at once, and a file is read in large batches.
type stream struct {
	parser  *requests.Parser
	maxLine int
	// answer returns a reply for each of the requests, all of which are good. A
	// *requests.Failure in place of a reply is that line's own error.
	answer func(ctx context.Context, batch []*requests.Request) ([]any, error)
	hint   string // what to do if no line can be read
}

// run answers in's lines on out. That some lines are bad is an error at the
// end, when all are answered.
func (s *stream) run(ctx context.Context, in io.Reader, out io.Writer) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	lines, batches := make(chan *requests.Request), make(chan []*requests.Request)
	var readError error // written before lines is closed
	go func() {
		defer close(lines)
		readError = s.read(ctx, in, lines)
	}()
	go gather(ctx, lines, batches)

	w := bufio.NewWriterSize(out, 1<<16)
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	total, failed := 0, 0
	for batch := range batches {
		replies, err := s.replies(ctx, batch)
		if err != nil {
			return errors.Join(err, w.Flush())
		}
		for _, r := range replies {
			if _, bad := r.(requests.Refusal); bad {
				failed++
			}
			total++
			if err := encoder.Encode(r); err != nil {
				return err
			}
		}
		if err := w.Flush(); err != nil {
			return err
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if readError != nil {
		readError = fmt.Errorf("%s: after line %d: %w", s.parser.File, total, readError)
	}
	if failed > 0 {
		hint := s.hint
		if failed < total {
			hint = ""
		}
		return errors.Join(readError, fmt.Errorf("%d of %d lines failed%s", failed, total, hint))
	}
	return readError
}

// read parses lines until the end.
func (s *stream) read(ctx context.Context, in io.Reader, lines chan<- *requests.Request) error {
	r := jsonlines.NewReader(in, s.maxLine)
	for {
		line, err := r.Next()
		var long *jsonlines.TooLong
		if err == io.EOF {
			return nil
		}
		if err != nil && !errors.As(err, &long) {
			return err
		}
		if r.Line() == 1 && err == nil {
			s.hint = linesHint(line) // read when lines is closed
		}
		select {
		case lines <- s.parser.Parse(line, r.Line(), err):
		case <-ctx.Done():
			return nil
		}
	}
}

// gather collects lines into batches: whatever waits when a batch is asked for,
// up to a limit.
func gather[R interface{ Tokens() int }](ctx context.Context, lines <-chan R, batches chan<- []R) {
	defer close(batches)
	var waiting []R
	tokens := 0
	for lines != nil || len(waiting) > 0 {
		from, to := lines, batches
		if len(waiting) == 0 {
			to = nil
		}
		if len(waiting) >= batchLines || tokens >= batchTokens {
			from = nil
		}
		select {
		case r, ok := <-from:
			if !ok {
				lines = nil
				continue
			}
			waiting = append(waiting, r)
			tokens += r.Tokens()
		case to <- waiting:
			waiting, tokens = nil, 0
		case <-ctx.Done():
			return
		}
	}
}

// replies answers the good lines of a batch and refuses the others.
func (s *stream) replies(ctx context.Context, batch []*requests.Request) ([]any, error) {
	var good []*requests.Request
	for _, r := range batch {
		if r.Failure == nil {
			good = append(good, r)
		}
	}
	var answers []any
	if len(good) > 0 {
		var err error
		if answers, err = s.answer(ctx, good); err != nil {
			return nil, err
		}
	}
	out := make([]any, len(batch))
	for i, r := range batch {
		f := r.Failure
		if f == nil {
			out[i] = answers[0]
			answers = answers[1:]
			f, _ = out[i].(*requests.Failure)
		}
		if f != nil {
			out[i] = requests.Refusal{ID: r.ID, Error: f}
		}
	}
	return out, nil
}
