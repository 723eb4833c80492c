package model

import (
	"cmp"
	"context"
	"errors"

	"github.com/sftseq/sftseq/internal/fmath"
	"github.com/sftseq/sftseq/internal/tensor"
	"github.com/sftseq/sftseq/seq"
)

// RunTogether runs one program concurrently on the examples of each slot, and downloads the results.
func RunTogether(ctx context.Context, slots []*Slot, examples [][]seq.Example, results []*Result, d Drawing) error {
	e := slots[0].engine
	var shape passShape
	for i, l := range slots {
		l.batch.pack(e.Config, e.Config.Sequences(), examples[i], d, l.Packers)
		shape = shape.union(l.batch.shape(e.Config))
	}
	p, err := e.pass(shape, d.Mode)
	if err != nil {
		return err
	}
	mems := make([]tensor.Binding, len(slots))
	for i, l := range slots {
		if err := l.uploadFor(p, d); err != nil {
			return err
		}
		mems[i] = l.Memory
	}
	if err := tensor.RunConcurrently(ctx, p.Executable, mems, 0, len(p.Program.Segments)); err != nil {
		return err
	}
	for i, l := range slots {
		if results[i], err = l.results(p, &l.batch); err != nil {
			return err
		}
	}
	return nil
}

// errFound ends a search early.
var errFound = errors.New("found")

// Diagnose repeats a micro-batch launch by launch and returns the name of the first tensor with a
// value that is not finite, or "unknown". It checks the weights first.
func (l *Slot) Diagnose(ctx context.Context, examples []seq.Example, d Drawing) (name string, err error) {
	if name, bad := l.nonFiniteWeight(); bad {
		return name, nil
	}
	if l.engine.Config.Chunks != nil {
		name, err = l.diagnoseChunks(ctx, examples, d)
	} else {
		var p *preparedPass
		if p, err = l.Load(l.engine.Config.Sequences(), examples, d); err == nil {
			name, err = l.inspect(ctx, p)
		}
	}
	return cmp.Or(name, "unknown"), err
}

// inspect computes the loaded batch launch by launch, up to the first segment that reads gradients of
// another stage. It returns the name of the first tensor with a value that is not finite, or "".
func (l *Slot) inspect(ctx context.Context, p *preparedPass) (name string, err error) {
	counts := l.batch.counts.Words()
	err = p.Inspect(ctx, l.Memory, 0, p.forwardSegments(), func(k tensor.Kernel) error {
		for _, t := range tensor.Writes(k) {
			// A table's entries beyond the length of the longest sequence are not initialised.
			if _, table := k.(tensor.Sinusoid); table || t.Region != tensor.Arena || t.Int {
				continue
			}
			rows := t.Shape[0]
			if t.Rows != tensor.Fixed {
				rows = int(counts[t.Rows])
			}
			x := make([]float32, rows*t.Width())
			if err := tensor.Download(l.Memory[tensor.Arena], t, x); err != nil {
				return err
			}
			if !fmath.Finite(x) {
				name = t.Name
				return errFound
			}
		}
		return nil
	})
	if err != nil && !errors.Is(err, errFound) {
		return "", err
	}
	return name, nil
}

func (l *Slot) nonFiniteWeight() (string, bool) {
	w := make([]float32, l.engine.Params.Words)
	if l.engine.Weights.Read(0, tensor.Bits(w)) != nil {
		return "", false
	}
	return l.engine.Params.NonFinite(w)
}
