//go:build cgo

package vk

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/tensor"
)

// bench is a matrix product with random operands. Tests dispatch it with different tiles.
type bench struct {
	device  *gpu
	program *tensor.Program
	p       product
	used    int // rows in use
	a, b, c []float32
	bias    []float32
}

var forms = []struct {
	name string
	form form
}{{"forward", forward}, {"input gradient", inputGradient}, {"weight gradient", weightGradient}}

// newBench returns an m×n×k product with random operands. The argument used is the number of rows in
// use; the other rows hold NaN.
func newBench(d *gpu, f form, m, n, k, used int) *bench {
	b := &bench{device: d, program: tensor.NewProgram(), used: used}
	random := rand.New(rand.NewPCG(uint64(m*n*k), uint64(used)))
	numbers := func(n, used int) []float32 {
		x := make([]float32, n)
		for i := range x {
			x[i] = float32(math.NaN())
			if i < used {
				x[i] = float32(random.NormFloat64())
			}
		}
		return x
	}
	p := b.program
	p.Counts = p.Input("counts", tensor.Fixed, tensor.CountWords)
	input := func(rows, width int, outer bool) (*tensor.Tensor, []float32) {
		if outer {
			rows, width = width, rows
		}
		axis, inUse := tensor.Fixed, rows
		if f.a == outer && (outer || rows == m) {
			axis, inUse = tensor.Tokens, used
		}
		return p.Input("operand", axis, rows, width), numbers(rows*width, inUse*width)
	}
	b.p = product{form: f, m: m, n: n, k: k}
	b.p.a, b.a = input(m, k, f.a)
	if f.a { // the rows of both operands are rows of the batch
		b.p.b, b.b = p.Input("operand", tensor.Tokens, k, n), numbers(k*n, used*n)
		b.p.parts = chunks(k)
	} else {
		rows, width := n, k
		if f.b {
			rows, width = k, n
		}
		b.p.b, b.b = p.Input("operand", tensor.Fixed, rows, width), numbers(k*n, k*n)
	}
	b.p.rows = b.p.a
	b.p.bias, b.bias = p.Input("bias", tensor.Fixed, n), numbers(n, n)
	b.c = numbers(m*n*max(1, b.p.parts), m*n*max(1, b.p.parts))
	b.p.c = tensor.At(tensor.Gradients, 0, "result", len(b.c))
	p.Segment("product")
	p.Launch(tensor.Zero{Y: b.p.c}) // a segment needs a launch; run dispatches the product itself
	p.Finish()
	return b
}

// run runs the dispatches that the function add records, and returns the words of C.
func (b *bench) run(t *testing.T, add func(r *recorder)) []uint32 {
	t.Helper()
	r := &recorder{device: b.device, program: b.program}
	add(r)
	if r.err != nil {
		t.Fatal(r.err)
	}
	x := &executable{device: b.device, program: b.program, steps: r.steps, scratchWords: r.scratchRing.size}
	mem := tensor.Binding{}
	allocate := func(s tensor.Region, words int) tensor.Memory {
		m := must.Get(b.device.Allocate(words))(t)
		mem[s] = m
		t.Cleanup(m.Free)
		return m
	}
	write := func(m tensor.Memory, at *tensor.Tensor, x []float32) {
		must.Succeed(t, tensor.Upload(m, at, x))
	}
	in := allocate(tensor.Inputs, b.program.Words(tensor.Inputs))
	write(in, b.p.a, b.a)
	write(in, b.p.b, b.b)
	if b.p.bias != nil {
		write(in, b.p.bias, b.bias)
	}
	must.Succeed(t, tensor.Upload(in, b.program.Counts, tensor.Counts{Tokens: int32(b.used)}.Words()))
	out := allocate(tensor.Gradients, len(b.c))
	write(out, b.p.c, b.c)
	must.Succeed(t, x.Run(context.Background(), mem, 0, 1))
	words := make([]uint32, len(b.c))
	must.Succeed(t, out.Read(0, words))
	return words
}

// want returns C computed in float64, with operands rounded by the function round. Unused rows keep their
// initial values.
func (b *bench) want(round func(float32) float64) []float64 {
	p := b.p
	element := func(x []float32, outer bool, rows, k, i int) float64 {
		if outer {
			return round(x[k*rows+i])
		}
		return round(x[i*p.k+k])
	}
	m, k := b.used, p.k
	if p.form.a {
		m, k = p.m, b.used
	}
	var want []float64
	for _, v := range b.c {
		want = append(want, float64(v))
	}
	size := max(k, 1)
	if p.parts > 0 {
		size = (max(chunkRows, blocks(k, rowChunks)) + 15) / 16 * 16
	}
	for part := range max(1, p.parts) {
		for i := range m {
			for j := range p.n {
				var s float64
				for l := part * size; l < min(k, (part+1)*size); l++ {
					s += element(b.a, p.form.a, p.m, l, i) * element(b.b, p.form.b, p.n, l, j)
				}
				if p.bias != nil {
					s += float64(b.bias[j])
				}
				if p.gelu {
					s *= math.Erfc(-s/math.Sqrt2) / 2
				}
				e := &want[(part*p.m+i)*p.n+j]
				if p.accumulate {
					s += *e
				}
				*e = s
			}
		}
	}
	return want
}

// check compares C with the expected values. Elements of unused rows must keep their initial bits.
func (b *bench) check(t *testing.T, name string, got []uint32, want []float64, tolerance float64) {
	t.Helper()
	for i, w := range got {
		v := float64(math.Float32frombits(w))
		if !b.p.form.a && i >= b.used*b.p.n {
			if math.Float32bits(b.c[i]) != w {
				t.Errorf("%s: row %d, column %d is not in use, but was written", name, i/b.p.n, i%b.p.n)
				return
			}
		} else if !(math.Abs(v-want[i]) <= tolerance*(1+math.Abs(want[i]))) {
			t.Errorf("%s: row %d, column %d: %v, want %v", name, i/b.p.n, i%b.p.n, v, want[i])
			return
		}
	}
}

func toFloat64(x float32) float64 { return float64(x) }

// productCases returns products whose sizes are not multiples of the tiles. Each form occurs with
// row lengths that are multiples of four words and with row lengths that are not. The weight gradients
// have three chunks.
func productCases(d *gpu) map[string]*bench {
	cases := map[string]*bench{}
	for _, f := range forms {
		for _, odd := range []int{0, 1} {
			m, n, k, used := 140-odd, 132-odd, 36-odd, 133
			if f.form.a {
				m, k, used = k+100, 612, 530
			}
			name := fmt.Sprintf("%s %d×%d×%d, %d rows", f.name, m, n, k, used)
			cases[name] = newBench(d, f.form, m, n, k, used)
		}
	}
	return cases
}

// TestTilesAgree checks that all tiles produce bitwise identical results, which are close to the float64
// product. It tests unaligned rows with one tile only.
func TestTilesAgree(t *testing.T) {
	d := open(t, Options{})
	for name, b := range productCases(d) {
		list := append([]tile{exactTiles.fewColumns, exactTiles.fewRows}, exactTiles.large...)
		if !b.p.aligned() {
			list = list[:1] // compilation takes a long time, so unaligned rows are tested with one tile
		}
		want := b.want(toFloat64)
		var first []uint32
		for _, tile := range list {
			got := b.run(t, func(r *recorder) { r.multiplyTiled(b.p, tile) })
			b.check(t, fmt.Sprintf("%s, tile %v", name, tile), got, want, 2e-5)
			if first == nil {
				first = got
			} else if !slices.Equal(first, got) {
				t.Errorf("%s, tile %v: the result differs in bits from that of the first tile", name, tile)
			}
		}
	}
}

// TestProductEpilogues checks products with every combination of bias, accumulation and GELU, each with
// 16 columns and with 7, which is not a multiple of four.
func TestProductEpilogues(t *testing.T) {
	d := open(t, Options{})
	for _, n := range []int{7, 16} {
		for flags := range 8 {
			b := newBench(d, forward, 20, n, 8, 9)
			b.p.accumulate, b.p.gelu = flags&1 != 0, flags&2 != 0
			if flags&4 == 0 {
				b.p.bias = nil
			}
			got := b.run(t, func(r *recorder) { r.multiply(b.p) })
			b.check(t, fmt.Sprintf("%d columns, %+v", n, b.p), got, b.want(toFloat64), 2e-5)
		}
	}
}
