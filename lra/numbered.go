package lra

import (
	"context"
	"errors"
	"fmt"

	"github.com/sftseq/sftseq/seq"
)

// numbered are rows that are each drawn by a number of their own: a function of the seed, the
// split and the row's place in it.
type numbered struct {
	train, val, test int // rows of each split; a split without any is left out
	replace          bool
	progress         func(rows int64) // may be nil
	row              func(number uint64) seq.Example
}

// check reports splits that cannot be drawn.
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

// write makes a data set of them.
func (n *numbered) write(ctx context.Context, dir string, spec seq.Spec, provenance map[string]any) (*seq.Dataset, error) {
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
		drawn := rowsOf(func(write func(seq.Example) error) error {
			for row := range split.rows {
				if err := errors.Join(ctx.Err(), write(n.row(uint64(i)<<40|uint64(row)))); err != nil {
					return err
				}
			}
			return nil
		})
		if err := writeSplit(b, split.name, counted(drawn, n.progress)); err != nil {
			return nil, err
		}
	}
	return b.Finish(provenance)
}
