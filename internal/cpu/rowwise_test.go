package cpu

import (
	"context"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/tensor"
)

// TestFusedLaunches checks that the results of fused launches are bitwise identical to those of separate
// launches, even while they are profiled. All launches that can be fused must be fused.
func TestFusedLaunches(t *testing.T) {
	const d, wide, rows, capacity = 8, 24, 200, 230 // three blocks
	p := tensor.NewProgram()
	p.Counts = p.Input("counts", tensor.Fixed, tensor.CountWords)
	x := p.Input("x", tensor.Tokens, capacity, d)
	temp := func(name string, width int) *tensor.Tensor { return p.Temp(name, tensor.Tokens, capacity, width) }
	words := 0
	weight := func(shape ...int) *tensor.Tensor {
		w := tensor.At(tensor.Weights, words, "weight", shape...)
		words += w.Words()
		return w
	}
	gradient := func(w *tensor.Tensor) *tensor.Tensor {
		return tensor.At(tensor.Gradients, w.Offset, "gradient", w.Shape...)
	}
	linear := func(name string, from *tensor.Tensor, width int) (*tensor.Tensor, *tensor.Tensor) {
		w, y := weight(width, from.Width()), temp(name, width)
		p.Launch(tensor.Linear{Y: y, X: from, Weight: w, Bias: weight(width)})
		return y, w
	}

	p.Segment("forward")
	normed, mean, rstd, gain := temp("normed", d), temp("mean", 1), temp("rstd", 1), weight(d)
	p.Launch(tensor.LayerNorm{Y: normed, X: x, Mean: mean, RStd: rstd, Gain: gain, Bias: weight(d), Eps: 1e-5})
	hidden, w1 := linear("hidden", normed, wide)
	activated := temp("activated", wide)
	p.Launch(tensor.GELU{Y: activated, X: hidden})
	y, w2 := linear("y", activated, d)
	sum, score := temp("sum", d), temp("score", 1)
	p.Launch(tensor.Add{Y: sum, A: y, B: x})
	scorer := weight(d)
	p.Launch(tensor.RowDot{Y: score, X: sum, Weight: scorer, Bias: weight(1)})
	p.Keep(score)
	p.Segment("backward")
	dhidden, dx := temp("dhidden", wide), temp("dx", d)
	p.Launch(tensor.LinearBackward{DX: dhidden, DWeight: gradient(w2), DBias: gradient(weight(d)), DY: sum,
		X: activated, Weight: w2})
	p.Launch(tensor.GELUBackward{DX: dhidden, DY: dhidden, X: hidden})
	p.Launch(tensor.LinearBackward{DX: dx, DWeight: gradient(w1), DBias: gradient(weight(wide)),
		DY: dhidden, X: normed, Weight: w1})
	p.Launch(tensor.RowDotBackward{DX: dx, DWeight: gradient(scorer), DBias: gradient(weight(1)),
		DY: score, X: sum, Weight: scorer})
	p.Launch(tensor.LayerNormBackward{DX: dx, DGain: gradient(gain), DBias: gradient(weight(d)), DY: dx, X: x,
		Mean: mean, RStd: rstd, Gain: gain})
	p.Launch(tensor.Add{Y: sum, A: sum, B: dx})
	p.Keep(sum)
	p.Finish()

	rng := rand.New(rand.NewPCG(1, 2))
	random := func(n int) []float32 {
		out := make([]float32, n)
		for i := range out {
			out[i] = float32(rng.NormFloat64())
		}
		return out
	}
	inputs, weights := random(capacity*d), random(words)
	result := func(dev *Device, visit func(tensor.Kernel) error) []uint32 {
		t.Helper()
		e := must.Get(dev.Prepare(p))(t)
		var mem tensor.Binding
		for s, n := range map[tensor.Region]int{tensor.Arena: p.Words(tensor.Arena),
			tensor.Inputs: p.Words(tensor.Inputs), tensor.Weights: words, tensor.Gradients: words} {
			mem[s] = must.Get(dev.Allocate(n))(t)
		}
		write := func(s tensor.Region, at int, v []uint32) {
			must.Succeed(t, mem[s].Write(at, v))
		}
		write(tensor.Inputs, p.Counts.Offset, tensor.Bits(tensor.Counts{Tokens: rows}.Words()))
		write(tensor.Inputs, x.Offset, tensor.Bits(inputs))
		write(tensor.Weights, 0, tensor.Bits(weights))
		for range 2 { // the second run uses dirty memory
			must.Succeed(t, e.Inspect(context.Background(), mem, 0, len(p.Segments), visit))
		}
		out := make([]uint32, rows*(1+d)+words)
		for _, r := range []struct {
			region tensor.Region
			offset int
			to     []uint32
		}{{tensor.Arena, score.Offset, out[:rows]}, {tensor.Arena, sum.Offset, out[rows:][:rows*d]},
			{tensor.Gradients, 0, out[rows*(1+d):]}} {
			must.Succeed(t, mem[r.region].Read(r.offset, r.to))
		}
		return out
	}
	separate := result(New(1), func(tensor.Kernel) error { return nil })
	launches := map[string]int{}
	for _, k := range p.Launches {
		launches[tensor.Name(k)] += 2
	}
	for _, threads := range []int{1, 3} {
		dev := New(threads)
		if !slices.Equal(result(dev, nil), separate) {
			t.Errorf("%d threads: the results of fused launches differ from those of separate launches", threads)
		}
		dev.StartProfile()
		began := time.Now()
		if !slices.Equal(result(dev, nil), separate) {
			t.Errorf("%d threads: the results of a profiled run differ from those of separate launches", threads)
		}
		maxSeconds := time.Since(began).Seconds()
		total, counted := 0.0, map[string]int{}
		for _, k := range dev.StopProfile() {
			if k.Seconds <= 0 {
				t.Errorf("%d threads: got time %+v, want a positive time", threads, k)
			}
			total += k.Seconds
			counted[k.Name] = k.Launches
		}
		if total > maxSeconds || !maps.Equal(counted, launches) {
			t.Errorf("%d threads: got %v s and launches %v, want at most %v s and launches %v",
				threads, total, counted, maxSeconds, launches)
		}
		if result(dev, nil); dev.StopProfile() != nil {
			t.Errorf("%d threads: got a profile after StopProfile", threads)
		}
	}
	var groups []int // number of launches in each group
	for _, s := range p.Segments {
		for i := s.From; i < s.To; {
			n := fusedLength(p.Launches[i:s.To])
			groups = append(groups, n)
			i += n
		}
	}
	if want := []int{6, 2, 4}; !slices.Equal(groups, want) {
		t.Errorf("got groups of %d launches, want %d", groups, want)
	}
}

// TestCanFuse checks that launches are not fused if one would overwrite rows that
// another launch has not read yet, or read rows that another launch has not written yet.
func TestCanFuse(t *testing.T) {
	at := func(offset, width int) *tensor.Tensor {
		x := tensor.At(tensor.Arena, offset, "x", 10, width)
		x.Rows = tensor.Tokens
		return x
	}
	onSampledAxis := func(x *tensor.Tensor) *tensor.Tensor { x.Rows = tensor.Sampled; return x }
	gelu := func(y, x *tensor.Tensor) tensor.Kernel { return tensor.GELU{Y: y, X: x} }
	weight := tensor.At(tensor.Weights, 0, "weight", 4, 4)
	back := tensor.LinearBackward{DX: at(0, 4), DY: at(100, 4), X: at(200, 4), Weight: weight,
		DWeight: weight, DBias: weight}
	batch := tensor.NewBatch(tensor.NewProgram(), 10, 2)
	convolution := func(y, a, x *tensor.Tensor) tensor.Kernel {
		return tensor.Convolution{Y: y, A: a, X: x, Weight: weight, Bias: weight, Batch: batch, Dilation: 1}
	}
	convolutionBack := tensor.ConvolutionBackward{DX: at(0, 4), DZ: at(100, 4), X: at(200, 4), Weight: weight,
		DWeight: weight, DBias: weight, Batch: batch, Dilation: 1}
	for _, c := range []struct {
		name   string
		before []tensor.Kernel
		next   tensor.Kernel
		want   bool
	}{
		{"reads written rows", []tensor.Kernel{gelu(at(0, 4), at(100, 4))}, gelu(at(200, 4), at(0, 4)), true},
		{"overwrites a read tensor", []tensor.Kernel{gelu(at(0, 4), at(100, 4))}, gelu(at(100, 4), at(0, 4)), true},
		{"writes over rows of another width", []tensor.Kernel{gelu(at(0, 4), at(100, 4))},
			gelu(at(100, 2), at(200, 2)), false},
		{"overwrites a part of a read tensor", []tensor.Kernel{gelu(at(0, 4), at(100, 4))},
			gelu(at(104, 4), at(0, 4)), false},
		{"reads a part of a written tensor", []tensor.Kernel{gelu(at(0, 4), at(100, 4))},
			gelu(at(200, 2), at(0, 2)), false},
		{"overwrites a part of a written tensor", []tensor.Kernel{gelu(at(0, 4), at(100, 4))},
			gelu(at(20, 4), at(200, 4)), false},
		{"conflicts with an earlier launch",
			[]tensor.Kernel{gelu(at(0, 4), at(100, 4)), gelu(at(200, 4), at(300, 4))},
			gelu(at(400, 2), at(0, 2)), false},
		{"rows of another axis", []tensor.Kernel{gelu(at(0, 4), at(100, 4))}, gelu(at(200, 4), onSampledAxis(at(0,
			4))), false},
		{"after a sum over all rows", []tensor.Kernel{back}, gelu(at(300, 4), at(0, 4)), true},
		{"overwrites the input of a sum over all rows", []tensor.Kernel{back}, gelu(at(200, 4), at(0, 4)), false},
		{"reads written rows around a block", []tensor.Kernel{gelu(at(0, 4), at(100, 4))},
			convolution(at(200, 4), at(300, 4), at(0, 4)), false},
		{"reads the rows that were written", []tensor.Kernel{gelu(at(0, 4), at(100, 4))},
			convolution(at(200, 4), at(0, 4), at(300, 4)), true},
		{"overwrites rows read around a block", []tensor.Kernel{convolution(at(200, 4), at(300, 4), at(0, 4))},
			gelu(at(0, 4), at(200, 4)), false},
		{"overwrites the rows that were read", []tensor.Kernel{convolution(at(200, 4), at(300, 4), at(0, 4))},
			gelu(at(300, 4), at(200, 4)), true},
		{"reads a gradient that was written around a block",
			[]tensor.Kernel{gelu(at(100, 4), at(300, 4))}, convolutionBack, false},
		{"overwrites a gradient that is read around a block", []tensor.Kernel{convolutionBack},
			gelu(at(100, 4), at(0, 4)), false},
		{"overwrites the input of a gradient", []tensor.Kernel{convolutionBack},
			gelu(at(200, 4), at(0, 4)), true},
	} {
		if got := canFuse(c.before, c.next, tensor.Tokens); got != c.want {
			t.Errorf("%s: got %t, want %t", c.name, got, c.want)
		}
	}
	sampled := gelu(onSampledAxis(at(200, 4)), onSampledAxis(at(300, 4)))
	for _, launches := range [][]tensor.Kernel{{gelu(at(0, 4), at(100, 4)), sampled},
		{sampled, gelu(at(0, 4), at(100, 4))}, {tensor.Zero{Y: weight}, sampled}} {
		if n := fusedLength(launches); n != 1 {
			t.Errorf("fusedLength is %d for launches that cannot be fused, want 1", n)
		}
	}
}
