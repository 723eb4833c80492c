//go:build cgo

package vk

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sftseq/sftseq/internal/cpu"
	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/philox"
	"github.com/sftseq/sftseq/internal/tensor"
	"github.com/sftseq/sftseq/sinusoid"
)

// packed is a batch of packed sequences, with a program over them that tests run on several
// devices.
type packed struct {
	*tensor.Program
	*tensor.Batch
	tokens, sampled int
	inputs          map[*tensor.Tensor][]uint32
}

// newPacked returns a batch of sequences of the given lengths, each with min(k, length) sampled
// keys.
func newPacked(lengths []int, k int) *packed {
	random := rand.New(rand.NewPCG(1, 2))
	offset, sampleOffset := []int32{0}, []int32{0}
	var position, sequence []int32
	var example, tower []uint32
	for b, n := range lengths {
		for i := range n {
			position, sequence = append(position, int32(i)), append(sequence, int32(b))
		}
		offset = append(offset, offset[b]+int32(n))
		sampleOffset = append(sampleOffset, sampleOffset[b]+int32(min(n, k)))
		example, tower = append(example, random.Uint32()), append(tower, random.Uint32()&1)
	}
	n := len(lengths)
	p := &packed{Program: tensor.NewProgram(), tokens: int(offset[n]), sampled: int(sampleOffset[n])}
	p.Batch = tensor.NewBatch(p.Program, p.tokens, n)
	counts := tensor.Counts{Tokens: offset[n], Sequences: int32(n), Sampled: sampleOffset[n], Examples: int32(n),
		Longest: int32(slices.Max(lengths))}
	p.inputs = map[*tensor.Tensor][]uint32{
		p.Counts: tensor.Bits(counts.Words()), p.Batch.Position: tensor.Bits(position),
		p.Batch.Sequence: tensor.Bits(sequence),
		p.Batch.Offset:   tensor.Bits(offset), p.Batch.SampleOffset: tensor.Bits(sampleOffset),
		p.Batch.Example: example, p.Batch.Tower: tower,
		p.Batch.Random: {random.Uint32(), random.Uint32(), random.Uint32()},
	}
	return p
}

// input declares an input of the program with the values x.
func (p *packed) input(rows tensor.Axis, x []float32, shape ...int) *tensor.Tensor {
	t := p.Input("input", rows, shape...)
	p.inputs[t] = tensor.Bits(x)
	return t
}

// output declares an output of the program.
func (p *packed) output(rows tensor.Axis, shape ...int) *tensor.Tensor {
	t := p.Temp("output", rows, shape...)
	p.Keep(t)
	return t
}

// launch adds the program's only kernel and completes the program.
func (p *packed) launch(k tensor.Kernel) {
	p.Segment("test")
	p.Launch(k)
	p.Finish()
}

// run runs the program on the device and returns the words of the outputs.
func (p *packed) run(t *testing.T, d tensor.Device, outputs ...*tensor.Tensor) [][]uint32 {
	t.Helper()
	x := must.Get(d.Prepare(p.Program))(t)
	var mem tensor.Binding
	for _, s := range []tensor.Region{tensor.Arena, tensor.Inputs} {
		mem[s] = must.Get(d.Allocate(p.Words(s)))(t)
		defer mem[s].Free()
	}
	for in, words := range p.inputs {
		must.Succeed(t, mem[tensor.Inputs].Write(in.Offset, words))
	}
	must.Succeed(t, x.Run(context.Background(), mem, 0, 1))
	var results [][]uint32
	for _, out := range outputs {
		words := make([]uint32, out.Words())
		must.Succeed(t, mem[tensor.Arena].Read(out.Offset, words))
		results = append(results, words)
	}
	return results
}

// TestPhilox compares the top four bits of all four words of a draw with internal/philox. Dropout at
// rates in steps of 1/16 reveals these bits.
func TestPhilox(t *testing.T) {
	const width, layer, stream = 7, 1<<23 - 1, 255
	d := open(t, Options{}, subgroupWidths)
	for step := range 16 {
		rate := float32(step) / 16
		p := newPacked([]int{1000, 1, 257}, 1)
		x := make([]float32, p.tokens*width)
		for i := range x {
			x[i] = 1
		}
		y := p.output(tensor.Tokens, p.tokens, width)
		p.launch(tensor.Dropout{Y: y, X: p.input(tensor.Tokens, x, p.tokens, width), Batch: p.Batch, Layer: layer,
			Stream: stream, Rate: rate})
		got := p.run(t, d, y)[0]
		r := p.inputs[p.Batch.Random]
		for i := range got {
			b := p.inputs[p.Batch.Sequence][i/width]
			n := uint32(i) - p.inputs[p.Batch.Offset][b]*width
			counter := philox.Counter(n/4, p.inputs[p.Batch.Tower][b], layer, stream,
				p.inputs[p.Batch.Example][b], r[2])
			u := philox.Uniform(philox.Words(uint64(r[0])|uint64(r[1])<<32, counter)[n%4])
			if kept := got[i] != 0; kept != (u >= rate) {
				t.Fatalf("element %d, u = %v, rate %v: kept is %v, want %v", i, u, rate, kept, u >= rate)
			}
		}
	}
}

// TestCosines checks that tables of a single frequency are bitwise identical to the cosines of package
// sinusoid.
func TestCosines(t *testing.T) {
	const ds, n = 4, 150_000
	q := must.Get(sinusoid.New(10000, ds))(t)
	p := newPacked([]int{n}, 1)
	mulWeight := []float32{1, 1, 0, 0, 0, 0, 1, 1}   // rows 0 and 1 of f are the cosines of the two frequencies
	addWeight := []float32{-1, 1, 0, 0, 0, 0, -1, 1} // so are rows 2 and 3 of g
	bias := make([]float32, 2)
	f, g, e := p.output(tensor.Fixed, 4, 2*n), p.output(tensor.Fixed, 4, 2*n), p.output(tensor.Fixed, 4, 2*n)
	p.launch(tensor.Sinusoid{F: f, G: g, E: e, Counts: p.Counts, Frequencies: q,
		MulWeight: p.input(tensor.Fixed, mulWeight, 2, ds), MulBias: p.input(tensor.Fixed, bias, 2),
		AddWeight: p.input(tensor.Fixed, addWeight, 2, ds), AddBias: p.input(tensor.Fixed, bias, 2)})
	got := p.run(t, open(t, Options{}, subgroupWidths), f, g)
	for head, w := range q.Turns() {
		for column := range 2*n - 1 {
			want := sinusoid.Cos(uint32(uint64(column) * w >> 32))
			if v := math.Float32frombits(got[1][(2+head)*2*n+column]); v != want {
				t.Fatalf("g: frequency %d, t = %d: %v, want %v", head, column, v, want)
			}
			if v := math.Float32frombits(got[0][head*2*n+n-1+column]); column < n && v != want {
				t.Fatalf("f: frequency %d, t = %d: %v, want %v", head, column, v, want)
			}
		}
	}
}

// TestLongSample checks that the GPU and the CPU sample the same keys. The batch has too many tokens for
// one dispatch, and its sequences have one chunk or several. The test samples without noise, so that the
// result is unique.
func TestLongSample(t *testing.T) {
	d := open(t, Options{}, subgroupWidths)
	reference := cpu.New(2)
	lengths := []int{1, 20_000, 3, sampleChunk, 9000, 2, sampleChunk + 1}
	for _, c := range []struct {
		k, scores int
		rate      float32
	}{{300, 1 << 20, 0}, {5000, 1 << 20, 0.3}, {300, 3, 0}, {5000, 3, 0.3}, {1 << 20, 5, 0.5}, {700, 1, 0.999}} {
		t.Run(fmt.Sprintf("k %d, %d scores, drop %v", c.k, c.scores, c.rate), func(t *testing.T) {
			p := newPacked(lengths, c.k)
			score := make([]float32, p.tokens)
			random := rand.New(rand.NewPCG(3, 4))
			for i := range score {
				score[i] = float32(random.IntN(c.scores)-c.scores/2) / 1024
			}
			noised, count := p.output(tensor.Tokens, p.tokens), p.output(tensor.Sequences, len(lengths))
			top, partner := p.output(tensor.Sampled, p.sampled), p.output(tensor.Sampled, p.sampled)
			p.launch(tensor.Sample{Noised: noised, Top: top, Partner: partner, Count: count,
				Score: p.input(tensor.Tokens, score, p.tokens), Batch: p.Batch, K: c.k, Layer: 3, DropRate: c.rate})
			got, want := p.run(t, d, noised, count, top, partner), p.run(t, reference, noised, count, top, partner)
			for i, name := range []string{"scores", "counts", "S1", "S2"} {
				if !slices.Equal(got[i], want[i]) {
					t.Errorf("the %s of the GPU differ from those of the CPU", name)
				}
			}
		})
	}
}
