package requests

import (
	"errors"
	"fmt"
	"io"

	"github.com/sftseq/sftseq/internal/jsonlines"
	"github.com/sftseq/sftseq/seq"
)

// Labelled reads all lines with their labels. read adds the label of a line to the line's example. limit
// is the maximum length of a line in bytes. Labelled returns an error for the first invalid line, and for
// input without lines.
func Labelled(in io.Reader, p *Parser, read func(*Request, *seq.Example) error, limit int) ([]seq.Example, error) {
	var examples []seq.Example
	r := jsonlines.NewReader(in, limit)
	for {
		line, err := r.Next()
		var long *jsonlines.TooLong
		if err == io.EOF {
			break
		}
		if err != nil && !errors.As(err, &long) {
			return nil, fmt.Errorf("%s: %w", p.File, err)
		}
		q := p.Parse(line, r.Line(), err)
		if q.Failure != nil {
			return nil, q.Failure
		}
		e := q.Example()
		err = read(q, &e)
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", p.File, r.Line(), err)
		}
		examples = append(examples, e)
	}
	if len(examples) == 0 {
		return nil, fmt.Errorf("%s: found no lines, expected at least 1", p.File)
	}
	return examples, nil
}
