package requests

import (
	"errors"
	"fmt"
	"io"

	"github.com/sftseq/sftseq/internal/jsonlines"
	"github.com/sftseq/sftseq/seq"
)

// Labelled reads all lines; the first bad one is an error.
func Labelled(in io.Reader, p *Parser, limit int) ([]seq.Example, error) {
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
		switch {
		case p.Config.Tags():
			e.Labels, err = parseTags(p.Config, q.Labels, e.First())
		case p.Config.Predicts():
			e.Numbers, err = parseNumbers(p.Config, q.Numbers)
		case p.Config.LabelsHold():
			e.Labels, err = parseLabels(p.Config, q.Labels)
		default:
			e.Label, err = ParseLabel(p.Config, q.Label)
		}
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", p.File, r.Line(), err)
		}
		examples = append(examples, e)
	}
	if len(examples) == 0 {
		return nil, fmt.Errorf("%s: no lines, at least 1 was expected", p.File)
	}
	return examples, nil
}
