//go:build cgo

package vk

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/tensor"
)

// weightedAdditions returns a program that computes y = x + n·w by n additions, one per segment. The
// weights w are in memory that several bindings may share.
func weightedAdditions(n int) *tensor.Program {
	p := tensor.NewProgram()
	x, w := p.Input("x", tensor.Fixed, 100), tensor.At(tensor.Weights, 0, "w", 100)
	y := p.Temp("y", tensor.Fixed, 100)
	p.Keep(y)
	for range n {
		p.Segment("add")
		p.Launch(tensor.Add{Y: y, A: x, B: w})
		x = y
	}
	return p.Finish()
}

// TestSlots checks that several goroutines may concurrently prepare programs, run them on shared
// weights and read the results.
func TestSlots(t *testing.T) {
	d := open(t, Options{}, underRace)
	weights := must.Get(d.Allocate(100))(t)
	ones := make([]float32, 100)
	for i := range ones {
		ones[i] = 1
	}
	must.Succeed(t, weights.Write(0, tensor.Bits(ones)))
	slot := func(l int) error {
		var mem tensor.Binding
		mem[tensor.Weights] = weights
		for round := range 12 {
			n := 1 + (l+round)%4
			p := weightedAdditions(n)
			x, err := d.Prepare(p)
			if err != nil {
				return err
			}
			for _, s := range []tensor.Region{tensor.Arena, tensor.Inputs} {
				if mem[s], err = d.Allocate(p.Words(s)); err != nil {
					return err
				}
				defer mem[s].Free()
			}
			in, out := make([]float32, 100), make([]float32, 100)
			for i := range in {
				in[i] = float32(1000*l + 100*round + i)
			}
			for range 3 {
				if err := errors.Join(mem[tensor.Inputs].Write(0, tensor.Bits(in)),
					x.Run(context.Background(), mem, 0, n),
					mem[tensor.Arena].Read(0, tensor.Bits(out))); err != nil {
					return err
				}
				for i := range out {
					if out[i] != in[i]+float32(n) {
						t.Errorf("slot %d, round %d: %v, want %v", l, round, out[i], in[i]+float32(n))
						return nil
					}
				}
			}
		}
		return nil
	}
	var wg sync.WaitGroup
	for l := range 4 {
		wg.Go(func() {
			must.Check(t, slot(l))
		})
	}
	wg.Wait()
}

// TestRecordingsAreBounded checks that the device keeps at most maxRecordings recordings with the most
// recent at the end, and that the first program can run again.
func TestRecordingsAreBounded(t *testing.T) {
	d := openUnvalidated(t)
	defer d.Close()
	var mem tensor.Binding
	var executables []tensor.Executable
	for range maxRecordings + 10 {
		p := additions(1)
		x := must.Get(d.Prepare(p))(t)
		if executables = append(executables, x); mem[tensor.Arena] == nil {
			mem = allocateBinding(t, d, p)
		}
		must.Succeed(t, x.Run(context.Background(), mem, 0, 1))
	}
	if n := len(d.recordings); n != maxRecordings || d.recordings[n-1].executable != executables[len(executables)-1] {
		t.Errorf("%d recordings, want %d with the most recent recording at the end", n, maxRecordings)
	}
	if err := executables[0].Run(context.Background(), mem, 0, 1); err != nil { // the program is recorded again
		t.Error(err)
	}
}

// TestCancelled checks that a cancelled context stops a program between segments, and that the
// program can run again.
func TestCancelled(t *testing.T) {
	d := open(t, Options{})
	p := weightedAdditions(3)
	x := must.Get(d.Prepare(p))(t)
	mem := allocateBinding(t, d, p)
	mem[tensor.Weights] = must.Get(d.Allocate(100))(t)
	stop := errors.New("enough")
	ctx, cancel := context.WithCancelCause(context.Background())
	submitted := 0
	d.fault = func(call string, r int32) int32 {
		if call == "submit" {
			submitted++
			if submitted == 3 { // the uploads, then two segments
				cancel(stop)
			}
		}
		return r
	}
	if err := x.Run(ctx, mem, 0, 3); !errors.Is(err, context.Canceled) || submitted != 3 {
		t.Errorf("error %v after %d submissions, want Canceled after 3", err, submitted)
	}
	must.Check(t, x.Run(context.Background(), mem, 0, 3))
}
