package lockstep

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/cpu"
	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/tensor"
)

// perturbedDevice is a device that adds delta to one element of one input.
type perturbedDevice struct {
	tensor.Device
	input *tensor.Tensor
	index int
	delta float32
}

func (d perturbedDevice) Prepare(p *tensor.Program) (tensor.Executable, error) {
	x, err := d.Device.Prepare(p)
	return perturbedExecutable{x, d}, err
}

type perturbedExecutable struct {
	tensor.Executable
	device perturbedDevice
}

func (x perturbedExecutable) Run(ctx context.Context, mem tensor.Binding, from, to int) error {
	d := x.device
	score := make([]float32, d.input.Words())
	if err := tensor.Download(mem[tensor.Inputs], d.input, score); err != nil {
		return err
	}
	kept := slices.Clone(score)
	score[d.index] += d.delta
	if err := tensor.Upload(mem[tensor.Inputs], d.input, score); err != nil {
		return err
	}
	return errors.Join(x.Executable.Run(ctx, mem, from, to), tensor.Upload(mem[tensor.Inputs], d.input, kept))
}

// sampleProgram is a program that samples two tokens from each of two sequences.
type sampleProgram struct {
	*tensor.Program
	sample tensor.Sample
}

var (
	sampleCounts = tensor.Counts{Tokens: 7, Sequences: 2, Sampled: 4, Examples: 2, Longest: 4}
	sampleScores = []float32{3, 2, 1, 0.5, 1, 4, 1 - 1e-6}
)

func newSampleProgram() sampleProgram {
	p := tensor.NewProgram()
	b := tensor.NewBatch(p, 8, 2)
	k := tensor.Sample{Noised: p.Temp("noised", tensor.Tokens, 8), Count: p.TempInts("count", tensor.Sequences, 2),
		Top: p.TempInts("top", tensor.Sampled, 8), Partner: p.TempInts("partner", tensor.Sampled, 8),
		Score: p.Input("score", tensor.Tokens, 8), Batch: b, K: 2, Layer: 5}
	p.Segment("choose")
	p.Launch(k)
	return sampleProgram{p.Finish(), k}
}

// run runs the program, checks that both devices hold the same tokens, and returns them.
func (c sampleProgram) run(t *testing.T, d *Device) ([]int32, error) {
	t.Helper()
	x := must.Get(d.Prepare(c.Program))(t)
	var mem tensor.Binding
	for _, s := range []tensor.Region{tensor.Arena, tensor.Inputs} {
		mem[s] = must.Get(d.Allocate(c.Words(s)))(t)
	}
	b := c.sample.Batch
	for in, words := range map[*tensor.Tensor][]int32{c.Counts: sampleCounts.Words(), b.Offset: {0, 3, 7},
		b.SampleOffset: {0, 2, 4},
		b.Position:     {0, 1, 2, 0, 1, 2, 3}, b.Sequence: {0, 0, 0, 1, 1, 1, 1},
		c.sample.Score: tensor.As[int32](tensor.Bits(sampleScores))} {
		must.Succeed(t, tensor.Upload(mem[tensor.Inputs], in, words))
	}
	if err := x.Run(t.Context(), mem, 0, 1); err != nil {
		return nil, err
	}
	both, seconds := make([]int32, 4), make([]int32, 4)
	must.Succeed(t, tensor.Download(mem[tensor.Arena], c.sample.Top, both))
	if err := tensor.Download(mem[tensor.Arena].(memory).second, c.sample.Top, seconds); err != nil ||
		!slices.Equal(both, seconds) {
		t.Errorf("the second device continues with tokens %v, want %v; error %v", seconds, both, err)
	}
	return both, nil
}

// TestFlip checks that a token choice decided by rounding is reported, and that both devices
// continue with the first device's choice.
func TestFlip(t *testing.T) {
	c := newSampleProgram()
	d := New(cpu.New(1), perturbedDevice{cpu.New(1), c.sample.Score, 6, 2e-6})
	top, err := c.run(t, d)
	if err != nil || !slices.Equal(top, []int32{0, 1, 1, 2}) {
		t.Fatalf("got tokens %v, error %v, want [0 1 1 2]", top, err)
	}
	flips := d.Flips()
	if len(flips) != 1 {
		t.Fatalf("got %d flips, want 1: %v", len(flips), flips)
	}
	f := flips[0]
	if f.Layer != 5 || f.Sequence != 1 || !slices.Equal(f.Swapped, []int32{1, 3}) ||
		math.Abs(f.Gap-1e-6) > 1e-7 || !f.Rounding() {
		t.Errorf("got %+v, want a flip by rounding of tokens 1 and 3 in layer 5, sequence 1", f)
	}
}

// TestOtherScores checks that larger differences of scores are reported as a difference, not as a
// flip.
func TestOtherScores(t *testing.T) {
	c := newSampleProgram()
	_, err := c.run(t, New(cpu.New(1), perturbedDevice{cpu.New(1), c.sample.Score, 6, 0.1}))
	var e *Difference
	if !errors.As(err, &e) || e.Tensor != c.sample.Noised || e.Segment != "choose" ||
		e.Kernel != "sample" || e.Launch != 0 {
		t.Fatalf("got error %v, want a Difference of the noised scores", err)
	}
	for _, part := range []string{"choose", "sample", "noised", "row 6", "column 0", "cpu"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("got error %q, want it to contain %q", err, part)
		}
	}
	if _, err := c.run(t, New(cpu.New(1), cpu.New(1))); err != nil {
		t.Errorf("two equal devices: got error %v, want none", err)
	}
}

// TestGap checks the gap of different choices. It is infinite if the number or the order of the
// tokens differs, if only the partners differ, or if a position is outside the sequence.
func TestGap(t *testing.T) {
	choice := func(scores []float32, top, partner []int32) *Choice {
		return &Choice{scores: [][]float32{scores}, top: [][]int32{top}, partner: [][]int32{partner}}
	}
	scores := []float32{1, 2, 3, 2}
	reference := choice(scores, []int32{1, 2}, []int32{0, 3})
	for _, c := range []struct {
		top, partner []int32
		gap          float64 // −1 means no flips
	}{
		{[]int32{1, 2}, []int32{0, 3}, -1},
		{[]int32{2, 3}, []int32{0, 1}, 0},
		{[]int32{0, 2}, []int32{1, 3}, 1},
		{[]int32{2}, []int32{0}, math.Inf(1)},
		{[]int32{1, 2}, []int32{3, 0}, math.Inf(1)},
		{[]int32{2, 1}, []int32{0, 3}, math.Inf(1)},
		{[]int32{2, 9}, []int32{0, 3}, math.Inf(1)},
	} {
		got := -1.0
		if flips := reference.Flips(choice(scores, c.top, c.partner)); len(flips) > 0 {
			got = flips[0].Gap
		}
		if got != c.gap {
			t.Errorf("%v, %v: got gap %v, want %v", c.top, c.partner, got, c.gap)
		}
	}
}
