package cpu

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/simd"
	"github.com/sftseq/sftseq/internal/tensor"
	"github.com/sftseq/sftseq/sinusoid"
)

// newTablesRun prepares a program with both passes on random inputs. Segment 0 computes the tables, segment
// 1 the gradients of the weights and biases. The results are in the arena.
func newTablesRun(t testing.TB, d *Device, heads, dim, longest int) (tensor.Executable, tensor.Binding) {
	t.Helper()
	q := must.Get(sinusoid.New(10000, dim))(t)
	p := tensor.NewProgram()
	p.Counts = p.Input("counts", tensor.Fixed, tensor.CountWords)
	in := func(shape ...int) *tensor.Tensor { return p.Input("in", tensor.Fixed, shape...) }
	out := func(shape ...int) *tensor.Tensor {
		x := p.Temp("out", tensor.Fixed, shape...)
		p.Keep(x)
		return x
	}
	p.Segment("forward")
	p.Launch(tensor.Sinusoid{F: out(2*heads, 2*longest), G: out(2*heads, 2*longest), E: out(2*heads, 2*longest),
		MulWeight: in(heads, dim), AddWeight: in(heads, dim), MulBias: in(heads), AddBias: in(heads),
		Counts: p.Counts, Frequencies: q})
	p.Segment("backward")
	p.Launch(tensor.SinusoidBackward{DF: in(2*heads, 2*longest), DG: in(2*heads, 2*longest),
		DMulWeight: out(heads, dim), DAddWeight: out(heads, dim), DMulBias: out(heads), DAddBias: out(heads),
		Counts: p.Counts, Frequencies: q})
	x := must.Get(d.Prepare(p.Finish()))(t)
	var mem tensor.Binding
	for _, region := range []tensor.Region{tensor.Arena, tensor.Inputs} {
		mem[region] = must.Get(d.Allocate(p.Words(region)))(t)
	}
	random := rand.New(rand.NewPCG(1, uint64(longest)))
	words := make([]float32, p.Words(tensor.Inputs))
	for i := range words {
		words[i] = float32(random.NormFloat64()) / 4
	}
	copy(tensor.Bits(words), tensor.Bits(tensor.Counts{Longest: int32(longest)}.Words()))
	must.Succeed(t, mem[tensor.Inputs].Write(0, tensor.Bits(words)))
	return x, mem
}

// TestCosineCache checks that results from cached and recomputed cosines are bitwise identical, even
// if several programs run concurrently.
func TestCosineCache(t *testing.T) {
	const heads, dim, longest = 2, 20, 700
	k := must.Get(simd.Best())(t)
	results := func(d *Device) []uint32 {
		x, mem := newTablesRun(t, d, heads, dim, longest)
		must.Check(t, x.Run(context.Background(), mem, 0, 2))
		words := make([]uint32, mem[tensor.Arena].Words())
		must.Check(t, mem[tensor.Arena].Read(0, words))
		return words
	}
	full := NewLevel(1, k)
	full.cosines.words = maxCosines
	want := results(full)
	if len(full.cosines.tiles) != 0 {
		t.Errorf("a full cache stored %d tiles, want 0", len(full.cosines.tiles))
	}
	d := NewLevel(3, k)
	d.cosines.words = maxCosines - 3*(dim/2+1)*cosineTile - 1 // leaves room for 3 tiles
	var group sync.WaitGroup
	for i := range 6 {
		group.Go(func() {
			if !slices.Equal(results(d), want) {
				t.Errorf("run %d: the results differ from those without cached cosines", i)
			}
		})
	}
	group.Wait()
	if len(d.cosines.tiles) != 3 || d.cosines.words > maxCosines {
		t.Errorf("got %d cached tiles and %d used words, want 3 tiles and at most %d words", len(d.cosines.tiles),
			d.cosines.words, maxCosines)
	}
}

func BenchmarkSinusoid(b *testing.B) {
	for _, longest := range []int{2048, 65536} {
		x, mem := newTablesRun(b, New(1), 4, 128, longest)
		for i, name := range []string{"tables", "backward"} {
			b.Run(fmt.Sprintf("%s/%d", name, longest), func(b *testing.B) {
				for b.Loop() {
					if err := x.Run(context.Background(), mem, i, i+1); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
