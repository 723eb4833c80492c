package lra

import (
	"context"
	"errors"
	"fmt"

	"github.com/sftseq/sftseq/seq"
)

// numberedRows returns the endless rows of a split. The function row draws each row from a number. The
// number identifies the split and the row's index.
func numberedRows(ctx context.Context, split uint64, row func(number uint64) seq.Example) rows {
	return func(yield func(seq.Example, error) bool) {
		for i := split << 40; ctx.Err() == nil; i++ {
			if !yield(row(i), nil) {
				return
			}
		}
		yield(seq.Example{}, ctx.Err())
	}
}

// firstOf returns the first n rows of an endless sequence.
func firstOf(n int, all rows) rows {
	return func(yield func(seq.Example, error) bool) {
		if n == 0 {
			return
		}
		remaining := n
		for e, err := range all {
			if remaining--; !yield(e, err) || remaining == 0 {
				return
			}
		}
	}
}

// splitGenerator writes the splits of a generated data set that belongs to no task.
type splitGenerator struct {
	train, val, test int // rows per split; a split without rows is not written
	replace          bool
	progress         func(rows int64) // called with the number of rows added since the last call; may be nil
	row              func(number uint64) seq.Example
}

// check returns an error if a number of rows is negative or all are 0.
func (n *splitGenerator) check() error {
	for _, rows := range []int{n.train, n.val, n.test} {
		if rows < 0 {
			return fmt.Errorf("expected 0 rows or more, found %d", rows)
		}
	}
	if n.train+n.val+n.test == 0 {
		return errors.New("expected a split with rows, found none")
	}
	return nil
}

// write draws the rows and writes them as a data set.
func (n *splitGenerator) write(ctx context.Context, dir string, spec seq.Spec,
	provenance map[string]any) (*seq.Dataset, error) {
	b, err := seq.CreateDataset(dir, spec, n.replace)
	if err != nil {
		return nil, err
	}
	defer b.Abort()
	for i, split := range []struct {
		name string
		rows int
	}{{"train", n.train}, {"val", n.val}, {"test", n.test}} {
		if split.rows == 0 {
			continue
		}
		if err := writeSplit(b, split.name, withProgress(firstOf(split.rows, numberedRows(ctx, uint64(i), n.row)),
			n.progress)); err != nil {
			return nil, err
		}
	}
	return b.Finish(provenance)
}
