// Package evaluation measures a model on labelled rows, and picks and explains some of them to
// be shown.
package evaluation

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/sftseq/sftseq/internal/answer"
	"github.com/sftseq/sftseq/internal/metrics"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
)

// Evaluation runs a model over a file.
type Evaluation struct {
	Name   string // of the file
	Scorer *sft.Scorer
	Score  func(context.Context, []seq.Example) ([]sft.Output, error)
	Tally  *metrics.Tally
	Labels *metrics.MultiLabel // in place of Tally, where any number of labels of a row may hold
	// Seen is called with each row, which has the length that the model did not cut; may be
	// nil.
	Seen func(x *seq.Example, length int, logits []float32)
	// Refused is called with each row that cannot be measured, which otherwise is an error:
	// that the model cannot read, or for which it has no finite answer. May be nil.
	Refused func(x *seq.Example, length int, err error)
}

// Run measures all rows. Done is told of those that were.
func (e *Evaluation) Run(ctx context.Context, in *seq.Reader, done func(int64)) error {
	for {
		rows, err := in.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		for at := 0; at < rows.Len(); {
			n, err := e.piece(ctx, rows, at)
			if err != nil {
				return fmt.Errorf("%s: %w", e.Name, err)
			}
			at += n
			done(int64(n))
		}
	}
}

// piece measures rows from at on, as many as a batch takes.
func (e *Evaluation) piece(ctx context.Context, rows *seq.Rows, at int) (int, error) {
	var examples []seq.Example
	var lengths []int
batch:
	for tokens := 0; at+len(examples) < rows.Len() && len(examples) < answer.BatchRows && tokens < answer.BatchTokens; {
		x := rows.Example(at + len(examples))
		length := x.Length()
		if err := e.check(&x); err != nil {
			switch {
			case e.Refused == nil:
				return 0, fmt.Errorf("row %d: %w", x.Index, err)
			case len(examples) == 0:
				e.Refused(&x, length, err)
				return 1, nil
			}
			break batch // it comes first in the next
		}
		lengths = append(lengths, length)
		tokens += x.Length()
		examples = append(examples, x)
	}
	outputs, err := e.Score(ctx, examples)
	if err != nil {
		return 0, err
	}
	for i, o := range outputs {
		err := e.add(&examples[i], lengths[i], o.Logits)
		switch {
		case err != nil && e.Refused == nil:
			return 0, fmt.Errorf("row %d: %w", examples[i].Index, err)
		case err != nil:
			e.Refused(&examples[i], lengths[i], err)
		case e.Seen != nil:
			e.Seen(&examples[i], lengths[i], o.Logits)
		}
	}
	return len(examples), nil
}

// add counts a row.
func (e *Evaluation) add(x *seq.Example, length int, logits []float32) error {
	switch {
	case e.Labels == nil:
		return e.Tally.Add(int(x.Label), logits, length)
	case slices.ContainsFunc(logits, func(v float32) bool { return v-v != 0 }):
		return fmt.Errorf("logits %v, expected finite numbers", logits)
	}
	e.Labels.Add(logits, x.Labels)
	return nil
}

// check cuts a row to what the model reads and reports what keeps it from that.
func (e *Evaluation) check(x *seq.Example) (err error) {
	c := e.Scorer.Config()
	switch {
	case e.Labels != nil:
		if err := c.CheckLabels(x.Labels); err != nil {
			return fmt.Errorf("column label: %w", err)
		}
	case x.Label == seq.NoLabel:
		return errors.New("column label: expected a label, found none")
	case int(x.Label) >= c.NumLabels:
		return fmt.Errorf("column label: expected 0 to %d, found %d", c.NumLabels-1, x.Label)
	}
	if x.A, err = c.Window(x.A); err != nil {
		return err
	}
	if x.B != nil {
		x.B, err = c.Window(x.B)
	}
	return err
}
