package inference

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

// Lines writes a reply to out for each line of in that is not blank, in order. After all replies it
// returns an error if lines failed. Lines longer than maxLine bytes fail. If all lines failed, the error
// has the hint for the first line, unless this line is blank or too long. Without a hint, the error has the
// message of the first failed line.
//
// Lines reads ahead while the model computes: a batch has the lines that arrived during the
// previous batch. A user at a terminal thus gets each reply immediately, and a file is read in
// large batches.
func (m *Model) Lines(ctx context.Context, parser *requests.Parser, maxLine int, hint func(first []byte) string,
	in io.Reader, out io.Writer) error {
	r := lines{parser: parser, in: jsonlines.NewReader(in, maxLine), hint: hint}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var readError error // written before batches is closed
	batches := gather(ctx, func(to chan<- *requests.Request) { readError = r.read(ctx, to) })

	w := bufio.NewWriterSize(out, 1<<16)
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	total, failed, first := 0, 0, ""
	for batch := range batches {
		replies, err := m.Reply(ctx, batch)
		if err != nil {
			return errors.Join(err, w.Flush())
		}
		for _, r := range replies {
			if refusal, bad := r.(requests.Refusal); bad {
				if failed++; failed == 1 {
					first = refusal.Error.Message
				}
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
	if failed > 0 {
		hintText := r.firstHint
		if failed < total || hintText == "" {
			hintText = ", the first: " + first
		}
		return errors.Join(readError, fmt.Errorf("%d of %d lines failed%s", failed, total, hintText))
	}
	return readError
}

// lines reads and parses lines.
type lines struct {
	parser    *requests.Parser
	in        *jsonlines.Reader
	hint      func(first []byte) string
	firstHint string // hint for the first line
}

// read sends the parsed lines to a channel until the end of input.
func (r *lines) read(ctx context.Context, to chan<- *requests.Request) error {
	for last := 0; ; last = r.in.Line() {
		line, err := r.in.Next()
		var long *jsonlines.TooLong
		if err == io.EOF {
			return nil
		}
		if err != nil && !errors.As(err, &long) {
			return fmt.Errorf("%s: after line %d: %w", r.parser.File, last, err)
		}
		if r.in.Line() == 1 && err == nil {
			r.firstHint = r.hint(line)
		}
		select {
		case to <- r.parser.Parse(line, r.in.Line(), err):
		case <-ctx.Done():
			return nil
		}
	}
}
