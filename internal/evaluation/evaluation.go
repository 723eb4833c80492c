// Package evaluation measures a model on labelled rows, and selects and explains some rows as
// examples.
package evaluation

import (
	"context"
	"fmt"

	"github.com/sftseq/sftseq/internal/requests"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
)

// Evaluation measures a model on the rows of a file.
type Evaluation struct {
	Name    string // name of the file
	Scorer  *sft.Scorer
	Score   func(context.Context, []seq.Example) ([]sft.Output, error) // computes the outputs of a batch
	Measure Measure
	// CutTags counts the labels of tokens beyond the model's window, which the model does not read.
	CutTags int64
	// Seen, if not nil, is called with each measured row, its length before truncation, and its logits.
	Seen func(x *seq.Example, length int, logits []float32)
	// Refused is called with each row that cannot be measured: its targets are missing or invalid,
	// the model cannot read it, or the output is not finite. If Refused is nil, such a row is an error.
	Refused func(x *seq.Example, length int, err error)
}

// Run measures all rows of a reader. It calls done with the number of rows of each batch.
func (e *Evaluation) Run(ctx context.Context, in *seq.Reader, done func(int64)) error {
	for rows, err := range in.All() {
		if err != nil {
			return err
		}
		for at := 0; at < rows.Len(); {
			n, err := e.measureBatch(ctx, rows, at)
			if err != nil {
				return fmt.Errorf("%s: %w", e.Name, err)
			}
			at += n
			done(int64(n))
		}
	}
	return nil
}

// measureBatch measures the next batch of rows and returns its number of rows. at is the index of its
// first row.
func (e *Evaluation) measureBatch(ctx context.Context, rows *seq.Rows, at int) (int, error) {
	var examples []seq.Example
	var lengths, cut []int
batch:
	for tokens := 0; at+len(examples) < rows.Len() && len(examples) < requests.BatchRows &&
		tokens < requests.BatchTokens; {
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
			break batch // the next batch begins with the refused row
		}
		lengths, cut = append(lengths, length), append(cut, e.cutTags(&x))
		tokens += x.Length()
		examples = append(examples, x)
	}
	outputs, err := e.Score(ctx, examples)
	if err != nil {
		return 0, err
	}
	for i, o := range outputs {
		err := e.Measure.add(e.Scorer.Config(), &examples[i], lengths[i], o.Logits)
		if err != nil {
			if e.Refused == nil {
				return 0, fmt.Errorf("row %d: %w", examples[i].Index, err)
			}
			e.Refused(&examples[i], lengths[i], err)
			continue
		}
		e.CutTags += int64(cut[i])
		if e.Seen != nil {
			e.Seen(&examples[i], lengths[i], o.Logits)
		}
	}
	return len(examples), nil
}

// check returns an error if a row cannot be measured, and truncates it to the model's window.
func (e *Evaluation) check(x *seq.Example) (err error) {
	c := e.Scorer.Config()
	if err := e.Measure.check(c, x); err != nil {
		return err
	}
	if c.HasFeatures() {
		x.Features, x.Edges, err = c.WindowGraph(x.Features, x.Edges)
		return err
	}
	if x.A, err = c.Window(x.A); err != nil {
		return err
	}
	if x.B != nil {
		x.B, err = c.Window(x.B)
	}
	return err
}

// cutTags removes the labels of tokens beyond the window if e measures tags. It returns how many of the
// removed labels are not [seq.NoLabel].
func (e *Evaluation) cutTags(x *seq.Example) (n int) {
	if _, ok := e.Measure.(*Tags); !ok {
		return 0
	}
	for _, label := range x.Labels[x.First():] {
		if label != seq.NoLabel {
			n++
		}
	}
	x.Labels = x.Labels[:x.First()]
	return n
}
