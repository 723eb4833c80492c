package sft

import (
	"fmt"

	"sftseq/seq"
)

// order says which rows each step trains on: the short ones first if the
// settings ask for it, then epochs of all of them. It is a function of the
// settings and the lengths.
type order struct {
	all        *seq.Batches
	short      *seq.Batches // nil without a first phase
	shortRows  []uint32     // the rows that short's indices stand for
	shortSteps int
}

func newOrder(lengths []int32, s Settings) (*order, error) {
	all, err := seq.NewBatches(lengths, s.Batch, s.Seed)
	if err != nil {
		return nil, err
	}
	o := &order{all: all, shortSteps: s.ShortSteps}
	if s.ShortSteps == 0 {
		return o, nil
	}
	var short []int32
	for row, n := range lengths {
		if int(n) <= s.ShortLength {
			short = append(short, n)
			o.shortRows = append(o.shortRows, uint32(row))
		}
	}
	if len(short) == 0 {
		return nil, fmt.Errorf("no row of the training data has %d tokens or fewer, which the first %d steps train on", s.ShortLength, s.ShortSteps)
	}
	o.short, err = seq.NewBatches(short, s.Batch, s.Seed)
	return o, err
}

// batch returns the rows of the step that comes next.
func (o *order) batch(s State) []uint32 {
	if s.Step >= o.shortSteps {
		return o.all.At(s.Next)
	}
	n := o.short.PerEpoch()
	picks := o.short.At(seq.Position{Epoch: uint32(s.Step / n), Batch: s.Step % n})
	rows := make([]uint32, len(picks))
	for i, p := range picks {
		rows[i] = o.shortRows[p]
	}
	return rows
}

// next is the position among all rows after that step.
func (o *order) next(s State) seq.Position {
	if s.Step < o.shortSteps {
		return s.Next
	}
	return o.all.Next(s.Next)
}
