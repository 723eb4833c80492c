package cpu

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/tensor"
)

func TestMemoryBounds(t *testing.T) {
	d := New(1)
	m, err := d.Allocate(8)
	if err != nil || m.Words() != 8 {
		t.Fatalf("got memory %v, error %v; want 8 words", m, err)
	}
	defer m.Free()
	words := []uint32{9, 9, 9}
	if err := m.Read(5, words); err != nil || words[0]|words[1]|words[2] != 0 {
		t.Fatalf("new memory has %v, error %v; want zeros", words, err)
	}
	for _, at := range []int{-1, 6, 8, 9, math.MaxInt, math.MinInt} {
		must.Fail(t, "", "write of 3 words at", at, "of 8")(m.Write(at, words))
		must.Fail(t, "", "read of 3 words at", at, "of 8")(m.Read(at, words))
	}
	must.Check(t, m.Write(5, []uint32{1, 2, 3}))
	if err := m.Read(4, words); err != nil || words[0] != 0 || words[1] != 1 || words[2] != 2 {
		t.Errorf("read %v, error %v; want 0 1 2", words, err)
	}
	for _, n := range []int{-1, maxWords + 1, math.MaxInt} {
		must.Fail(t, "", "allocation of", n, "words")(d.Allocate(n))
	}
}

// unknown is a kernel that no device implements.
type unknown struct{ tensor.Zero }

func TestPrepareNamesAnUnknownKernel(t *testing.T) {
	p := tensor.NewProgram()
	p.Segment("only")
	p.Launch(unknown{tensor.Zero{Y: p.Temp("y", tensor.Fixed, 1)}})
	must.Fail(t, "unknown")(New(1).Prepare(p.Finish()))
}

// prepareCounter prepares a program that adds 1 to a persistent word in each of three segments. The
// returned function reads the word.
func prepareCounter(t *testing.T, d *Device) (tensor.Executable, tensor.Binding, func() float32) {
	t.Helper()
	p := tensor.NewProgram()
	word, one := tensor.At(tensor.Weights, 0, "word", 1), tensor.At(tensor.Weights, 1, "one", 1)
	for _, name := range []string{"a", "b", "c"} {
		p.Segment(name)
		p.Launch(tensor.Add{Y: word, A: word, B: one})
	}
	x := must.Get(d.Prepare(p.Finish()))(t)
	var mem tensor.Binding
	mem[tensor.Weights] = must.Get(d.Allocate(2))(t)
	must.Succeed(t, tensor.Upload(mem[tensor.Weights], one, []float32{1}))
	return x, mem, func() float32 {
		var v [1]float32
		must.Succeed(t, tensor.Download(mem[tensor.Weights], word, v[:]))
		return v[0]
	}
}

func TestRunSegments(t *testing.T) {
	x, mem, sum := prepareCounter(t, New(2))
	for _, c := range []struct {
		from, to int
		want     float32
	}{{0, 3, 3}, {1, 2, 4}, {2, 2, 4}, {0, 1, 5}} {
		must.Succeed(t, x.Run(context.Background(), mem, c.from, c.to))
		if got := sum(); got != c.want {
			t.Errorf("after segments %d to %d: got %v launches, want %v", c.from, c.to, got, c.want)
		}
	}
}

// TestCancelBetweenSegments checks that a run that is cancelled after a segment does not begin the next
// segment, and releases its thread.
func TestCancelBetweenSegments(t *testing.T) {
	d := New(1)
	x, mem, sum := prepareCounter(t, d)
	ctx, cancel := context.WithCancel(context.Background())
	err := x.Inspect(ctx, mem, 0, 3, func(tensor.Kernel) error {
		if sum() == 2 {
			cancel()
		}
		return nil
	})
	if !errors.Is(err, context.Canceled) || sum() != 2 {
		t.Errorf("got error %v after %v launches, want context.Canceled after 2", err, sum())
	}
	if err := x.Run(ctx, mem, 0, 3); !errors.Is(err, context.Canceled) || sum() != 2 {
		t.Errorf("got error %v after %v launches, want context.Canceled after 2", err, sum())
	}
	// The cancelled run has released its thread.
	if err := x.Run(context.Background(), mem, 0, 3); err != nil || sum() != 5 {
		t.Errorf("got error %v after %v launches, want no error after 5", err, sum())
	}
}

func TestVisitEndsARun(t *testing.T) {
	x, mem, sum := prepareCounter(t, New(1))
	stop := errors.New("stop")
	if err := x.Inspect(context.Background(), mem, 0, 3, func(tensor.Kernel) error { return stop }); err != stop ||
		sum() != 1 {
		t.Errorf("got error %v after %v launches, want the error of visit after 1 launch", err, sum())
	}
}

func TestRunNeedsItsMemory(t *testing.T) {
	d := New(1)
	p := tensor.NewProgram()
	p.Segment("only")
	p.Launch(tensor.GELU{Y: p.Temp("y", tensor.Fixed, 4), X: p.Input("x", tensor.Fixed, 4)})
	x := must.Get(d.Prepare(p.Finish()))(t)
	for _, words := range [][2]int{{0, 4}, {p.Words(tensor.Arena) - 1, 4}, {p.Words(tensor.Arena), 3}} {
		var mem tensor.Binding
		for i, s := range []tensor.Region{tensor.Arena, tensor.Inputs} {
			mem[s] = must.Get(d.Allocate(words[i]))(t)
		}
		if err := x.Run(context.Background(), mem, 0, 1); err == nil {
			t.Errorf("arena of %d words, inputs of %d words: got no error, want one", words[0], words[1])
		}
	}
}

// TestName checks that the device name states the number of threads, with the right plural.
func TestName(t *testing.T) {
	for threads, want := range map[int]string{1: ", 1 thread)", 2: ", 2 threads)"} {
		d := New(threads)
		if !strings.HasSuffix(d.Name(), want) {
			t.Errorf("%d threads: got name %s, want suffix %s", threads, d.Name(), want)
		}
		must.Check(t, d.Close())
	}
}
