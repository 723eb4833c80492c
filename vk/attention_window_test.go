//go:build cgo

package vk

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sftseq/sftseq/internal/cpu"
	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/tensor"
	"github.com/sftseq/sftseq/sinusoid"
)

// windowBytes returns the bytes of shared memory that a workgroup with a window of the given number of
// entries needs.
func windowBytes(entries int) int { return 16*tileVectors + 16 + queriesShared + entries*entryBytes }

// TestAttentionWindow checks the size of the window: large enough for a tile of keys if the device
// has the memory, and 0 if most groups of keys would not fit.
func TestAttentionWindow(t *testing.T) {
	const maxShared = 32 << 10
	for _, c := range []struct{ length, keys, tile, shared, want int }{
		{2048, 256, 64, maxShared, 832}, // the sizes of ListOps
		{2048, 256, 64, 48 << 10, 832},
		{2048, 256, 64, windowBytes(400), 384},
		{2048, 256, 64, windowBytes(128), 0}, // eight keys need 64 + 96 entries
		{2048, 256, 64, windowBytes(0), 0},
		{2048, 256, 64, 0, 0},
		{2048, 256, 32, maxShared, 512},
		{2048, 256, 4, maxShared, 128},
		{1024, 256, 64, maxShared, 512},
		{30, 30, 64, maxShared, 128},
		{1, 1, 64, maxShared, 128},
		{16384, 256, 64, maxShared, 832},
		{32768, 256, 64, maxShared, 0},
		{1 << 20, 256, 64, maxShared, 0},
	} {
		a := attentionShape{relation: sinusoidRelation, table: 2 * c.length, maxKeys: c.keys, tile: c.tile}
		if got := a.windowEntries(c.shared); got != c.want {
			t.Errorf("%d keys, %d tokens, %d rows per tile, %d bytes of shared memory: window of %d entries, want %d",
				c.keys, c.length, c.tile, c.shared, got, c.want)
		}
		for _, a.relation = range []uint32{0, distanceRelation, edgeRelation} {
			if got := a.windowEntries(c.shared); got != 0 {
				t.Errorf("relation %d: window of %d entries, want 0", a.relation, got)
			}
		}
	}
}

// windowCase is a backward pass of attention whose table gradients take every code path of a
// window.
type windowCase struct {
	*packed
	df, dg *tensor.Tensor
}

const (
	windowHeads, windowLength, windowKeys = 2, 1700, 400
	windowTable                           = 2 * windowLength
)

// newWindowCase returns a case with a long and a short sequence. Its tiles of keys need one window
// or several, and its groups of keys fit into a small window, into a large window or into none.
// Values are random, with weights from 1 to 2⁻¹². If equal is set, all pairs have the same gradient
// near its bound, so that adding a second value to a cell overflows it.
func newWindowCase(t *testing.T, equal bool) windowCase {
	const width = 8 * windowHeads
	p := newPacked([]int{windowLength, 100}, windowKeys)
	random := rand.New(rand.NewPCG(5, 6))
	values := func(n int, f func() float64) []float32 {
		x := make([]float32, n)
		for i := range x {
			x[i] = float32(f())
		}
		return x
	}
	normal := random.NormFloat64
	constantOne := func() float64 { return 1 }
	value, weight := normal, func() float64 { return math.Exp2(-12 * random.Float64()) }
	leak := constantOne
	if equal {
		value, weight = constantOne, func() float64 { return 1. / 16 }
		leak = func() float64 { return 1e5 } // almost all attention goes to the leak
	}
	var top, partner []int32
	addKeys := func(n, first, step, partnerOffset int) {
		for l := range n {
			top, partner = append(top, int32(first+l*step)), append(partner, int32(first+l*step+partnerOffset))
		}
	}
	addKeys(200, 0, 2, 1)
	addKeys(120, 400, 3, 1)
	addKeys(72, 760, 13, 6)
	for l := range int32(8) {
		top, partner = append(top, 100*l), append(partner, windowLength-1-50*l)
	}
	addKeys(100, 0, 1, 0)
	w := values(p.sampled, weight)
	for j := range w {
		if j%7 == 0 { // sampled keys without a partner
			w[j], partner[j] = 1, -1
		}
	}

	q := must.Get(sinusoid.New(10000, 4))(t)
	table := func() *tensor.Tensor { return p.output(tensor.Fixed, 2*windowHeads, windowTable) }
	weights := func(shape ...int) *tensor.Tensor {
		n := 1
		for _, s := range shape {
			n *= s
		}
		return p.input(tensor.Fixed, values(n, func() float64 { return 0.1 * normal() }), shape...)
	}
	s := tensor.Sinusoid{F: table(), G: table(), E: table(), Counts: p.Counts, Frequencies: q,
		MulWeight: weights(windowHeads, 4), MulBias: weights(windowHeads), AddWeight: weights(windowHeads, 4),
		AddBias: weights(windowHeads)}
	integers := func(rows tensor.Axis, x []int32) *tensor.Tensor {
		in := p.input(rows, nil, len(x))
		p.inputs[in] = tensor.Bits(x)
		return in
	}
	tokens := func(f func() float64) *tensor.Tensor {
		return p.input(tensor.Tokens, values(p.tokens*width, f), p.tokens, width)
	}
	sampled := func(f func() float64) *tensor.Tensor {
		return p.input(tensor.Sampled, values(p.sampled*width, f), p.sampled, width)
	}
	k := tensor.Attention{O: p.output(tensor.Tokens, p.tokens, width),
		Norm: p.output(tensor.Tokens, p.tokens, windowHeads),
		Q:    tokens(value), K: sampled(value), V: sampled(value),
		Leak:  p.input(tensor.Sequences, values(2*windowHeads, leak), 2, windowHeads),
		Count: integers(tensor.Sequences, []int32{windowKeys, 100}), Batch: p.Batch,
		Heads: windowHeads, MaxKeys: windowKeys,
		RelativeBias: tensor.SinusoidBias{F: s.F, G: s.G, E: s.E, P: p.input(tensor.Sampled, w, p.sampled),
			Top: integers(tensor.Sampled, top), Partner: integers(tensor.Sampled, partner)}}
	c := windowCase{packed: p, df: table(), dg: table()}
	b := tensor.AttentionBackward{Forward: k, DO: tokens(value), DQ: p.output(tensor.Tokens, p.tokens, width),
		DK: p.output(tensor.Sampled, p.sampled, width), DV: p.output(tensor.Sampled, p.sampled, width),
		Gradient: tensor.SinusoidGradient{DF: c.df, DG: c.dg, DP: p.output(tensor.Sampled, p.sampled, windowHeads)}}
	p.Segment("test")
	p.Launch(s)
	p.Launch(k)
	p.Launch(b)
	p.Finish()
	return c
}

// gradients returns the gradients of the tables without the last column, which is unused.
func (c windowCase) gradients(t *testing.T, d tensor.Device) []uint32 {
	var values []uint32
	for _, words := range c.run(t, d, c.df, c.dg) {
		for row := range slices.Chunk(words, windowTable) {
			values = append(values, row[:windowTable-1]...)
		}
	}
	return values
}

// TestWindowBits checks that the gradients of the tables are bitwise identical without a window and with
// windows of different sizes, and are close to the gradients of the CPU device.
func TestWindowBits(t *testing.T) {
	d := open(t, Options{})
	defer func(n int) { d.limits.sharedBytes = n }(d.limits.sharedBytes)
	for name, equal := range map[string]bool{"random": false, "equal": true} {
		t.Run(name, func(t *testing.T) {
			c := newWindowCase(t, equal)
			var first []uint32
			for _, window := range []int{0, 128, 512} {
				d.limits.sharedBytes = windowBytes(window)
				a := attentionShape{relation: sinusoidRelation, table: windowTable, maxKeys: windowKeys, tile: 64}
				if got := a.windowEntries(d.limits.sharedBytes); got != window {
					t.Fatalf("window of %d entries, want %d", got, window)
				}
				got := c.gradients(t, d)
				if first == nil {
					first = got
				} else if !slices.Equal(got, first) {
					t.Errorf("window of %d entries: gradients differ from those without a window", window)
				}
			}
			must.Check(t, checkClose(first, c.gradients(t, cpu.New(2))))
		})
	}
}

// checkClose returns an error if got differs from want by more than 1e-5 of the largest absolute value in
// want.
func checkClose(got, want []uint32) error {
	var largest, maxDifference float64
	for i := range want {
		g, w := float64(math.Float32frombits(got[i])), float64(math.Float32frombits(want[i]))
		largest, maxDifference = max(largest, math.Abs(w)), max(maxDifference, math.Abs(g-w))
	}
	if !(maxDifference <= 1e-5*largest) || largest == 0 {
		return fmt.Errorf("largest difference %g, want at most 1e-5 of the largest value %g", maxDifference, largest)
	}
	return nil
}
