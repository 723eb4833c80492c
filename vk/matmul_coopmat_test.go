//go:build cgo

package vk

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/sftseq/sftseq/internal/tensor"
)

// round returns x rounded to the operand type, float16 or bfloat16, with ties to even. It does not
// handle infinities or subnormal numbers.
func (c cooperative) round(x float32) float64 {
	low := uint32(13) // number of mantissa bits that float32 has beyond float16
	if c.bfloat16 {
		low = 16
	}
	b := math.Float32bits(x)
	b += 1<<(low-1) - 1 + b>>low&1
	return float64(math.Float32frombits(b &^ (1<<low - 1)))
}

// TestMixedTilesAgree checks products with 16-bit operands: all tested tiles produce bitwise
// identical results, which are close to the float64 product of the rounded operands.
func TestMixedTilesAgree(t *testing.T) {
	d := open(t, Options{Mixed: true})
	t.Logf("%s, %+v", d.Name(), *d.mixed)
	for name, b := range productCases(d) {
		list := append([]tile{mixedTiles.fewColumns, mixedTiles.fewRows}, mixedTiles.large...)
		// Compilation takes a long time, so unaligned rows and, on CPUs, gradients are tested with one tile.
		if !b.p.aligned() || b.p.form != forward && d.Info().Kind == "cpu" {
			list = list[:1]
		}
		c := d.mixed.shape(b.p.form)
		// Use GELU, because the epilogue has separate code for tiles inside C and for tiles at an edge of C.
		b.p.gelu = b.p.form == forward
		want := b.want(c.round)
		var first []uint32
		for _, tile := range list {
			got := b.run(t, func(r *recorder) { r.multiplyMixed(b.p, tile, c) })
			b.check(t, fmt.Sprintf("%s, tile %v", name, tile), got, want, 3e-5)
			if first == nil {
				first = got
			} else if !slices.Equal(first, got) {
				t.Errorf("%s, tile %v: the result differs in bits from that of the first tile", name, tile)
			}
		}
	}
}

// TestMixedSaturates checks that a forward product saturates finite operands beyond the range of
// float16 to the largest float16 number, and keeps infinities. In an input gradient, operands beyond
// the range become infinite, so that loss scaling detects the overflow.
func TestMixedSaturates(t *testing.T) {
	d := open(t, Options{Mixed: true})
	const largest = 65504
	for _, f := range forms[:2] {
		c := d.mixed.shape(f.form)
		if c.bfloat16 {
			continue
		}
		b := newBench(d, f.form, 3, 16, 16, 3)
		b.p.bias = nil
		for i := range b.b {
			b.b[i] = 1
		}
		for row, x := range []float32{1e6, -1e6, float32(math.Inf(1))} {
			for i := range 16 {
				b.a[16*row+i] = 0
			}
			b.a[16*row] = x
		}
		got := b.run(t, func(r *recorder) { r.multiplyMixed(b.p, mixedTiles.fewColumns, c) })
		want := []float64{largest, -largest, math.Inf(1)}
		if f.form != forward {
			want = []float64{math.Inf(1), math.Inf(-1), math.Inf(1)}
		}
		for row, w := range want {
			if v := float64(math.Float32frombits(got[16*row])); v != w {
				t.Errorf("%s of %v: %v, want %v", f.name, b.a[16*row], v, w)
			}
		}
	}
}

// TestMixedIsClose checks that results in mixed precision have a relative error below 1% against
// results in float32.
func TestMixedIsClose(t *testing.T) {
	type declare = func(tensor.Axis, ...int) *tensor.Tensor
	const capacity, rows, n, out = 300, 270, 20, 33
	kernels := map[string]func(in, out declare) tensor.Kernel{
		"feedforward": func(input, output declare) tensor.Kernel {
			return tensor.FeedForward{Y: output(tensor.Tokens, capacity, n), X: input(tensor.Tokens, capacity, n),
				Weight1: input(tensor.Fixed, out, n), Bias1: input(tensor.Fixed, out),
				Weight2: input(tensor.Fixed, n, out), Bias2: input(tensor.Fixed, n)}
		},
		"linear backward": func(input, output declare) tensor.Kernel {
			return tensor.LinearBackward{DX: output(tensor.Tokens, capacity, n), DWeight: output(tensor.Fixed, out, n),
				DBias: output(tensor.Fixed, out),
				DY:    input(tensor.Tokens, capacity, out), X: input(tensor.Tokens, capacity, n),
				Weight: input(tensor.Fixed, out, n)}
		},
	}
	mixed, exact := open(t, Options{Mixed: true}), open(t, Options{})
	for name, k := range kernels {
		want := runKernel(t, exact, rows, k)
		for i, got := range runKernel(t, mixed, rows, k) {
			var squares, errors float64
			for j, w := range got {
				v, e := float64(math.Float32frombits(w)), float64(math.Float32frombits(want[i][j]))
				squares, errors = squares+e*e, errors+(v-e)*(v-e)
			}
			if r := math.Sqrt(errors / squares); !(r < 0.01) {
				t.Errorf("%s, output %d: relative error %.1e, want less than 0.01", name, i, r)
			} else {
				t.Logf("%s, output %d: relative error %.1e", name, i, r)
			}
		}
	}
}
