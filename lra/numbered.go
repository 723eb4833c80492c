package lra

import (
	"context"
	"errors"
	"fmt"

	"github.com/sftseq/sftseq/seq"
)

// numberedRows returns the endless rows of a split. The function row draws each row from a number,
// which identifies the split and the row's index.
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

// firstOf returns the first n of an endless sequence of rows.
func firstOf(n int, of rows) rows {
	return func(yield func(seq.Example, error) bool) {
		if n == 0 {
			return
		}
		left := n
		for e, err := range of {
			if left--; !yield(e, err) || left == 0 {
				return
			}
		}
	}
}

// numbered describes splits of generated rows that belong to no task.
type numbered struct {
	train, val, test int // rows per split; a split without rows is not written
	replace          bool
	progress         func(rows int64) // called with the number of added rows; may be nil
	row              func(number uint64) seq.Example
}

// check returns an error if the splits cannot be drawn.
func (n *numbered) check() error {
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

// write writes a data set of the rows.
func (n *numbered) write(ctx context.Context, dir string, spec seq.Spec,
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
		if err := writeSplit(b, split.name, counted(firstOf(split.rows, numberedRows(ctx, uint64(i), n.row)),
			n.progress)); err != nil {
			return nil, err
		}
	}
	return b.Finish(provenance)
}
