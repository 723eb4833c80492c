package model

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/sft/config"
	"github.com/sftseq/sftseq/sft/internal/configtest"
)

func TestInitialize(t *testing.T) {
	c := configtest.TinyConfig()
	c.ResidualScale = true
	c.Convolutions = []config.Convolution{{KernelSize: 5, Dilation: 1}, {KernelSize: 3, Dilation: 32}}
	first := Initialize(c, 5)
	if !slices.Equal(first, Initialize(c, 5)) {
		t.Error("the same seed results in different weights")
	}
	p, second := NewParameters(c), Initialize(c, 6)
	for _, q := range p.List {
		x := p.Slice(first, q)
		constant := strings.Contains(q.Name, "norm") || strings.HasSuffix(q.Name, "residual_scale") ||
			strings.Contains(q.Name, ".bias") &&
				(strings.Contains(q.Name, "rel_") || strings.Contains(q.Name, "sampler") ||
					strings.Contains(q.Name, "head.pool") || strings.Contains(q.Name, ".conv."))
		if slices.Equal(x, p.Slice(second, q)) != constant {
			t.Errorf("%s: values equal for two seeds: %t, want %t", q.Name, !constant, constant)
		}
		for i, v := range x {
			if strings.Contains(q.Name, "rel_mul.bias") && math.Abs(math.Log1p(math.Exp(float64(v)))-1) > 1e-6 {
				t.Errorf("%s: softplus(%v) is not 1", q.Name, v)
			}
			if taps := float64(q.Shape[0]); strings.Contains(q.Name, ".conv.") &&
				strings.HasSuffix(q.Name, ".weight") && !constant && !(math.Abs(float64(v)) <= 1/math.Sqrt(taps)) {
				t.Errorf("%s: %v at %d is outside of ±1/√%v", q.Name, v, i, taps)
			}
			if strings.Contains(q.Name, ".conv.") && strings.HasSuffix(q.Name, ".bias") && v != 0 {
				t.Errorf("%s: %v at %d, want 0", q.Name, v, i)
			}
			if strings.Contains(q.Name, "attn.q") && math.Abs(float64(v)) > 1/math.Sqrt(6) {
				t.Errorf("%s: %v at %d is outside of ±1/√6", q.Name, v, i)
			}
			if strings.Contains(q.Name, "norm") &&
				v != map[bool]float32{true: 0, false: 1}[strings.HasSuffix(q.Name, ".bias")] {
				t.Errorf("%s: %v at %d, want weights of 1 and biases of 0", q.Name, v, i)
			}
		}
	}
}

// TestInitialDocumentEncoder checks which weights begin at 0 in a chunked model but not without chunks: the
// last weights of the residual branches of the document encoder, or none with a residual scale, which itself
// begins at 0.
func TestInitialDocumentEncoder(t *testing.T) {
	c := configtest.TinyConfig()
	c.NumLayers, c.Convolutions = 3, []config.Convolution{{KernelSize: 5, Dilation: 1}, {KernelSize: 3, Dilation: 2}}
	c.Chunks = &config.Chunks{Rule: "content", Average: 16, Exports: 2, Layers: 1}
	c.MovingAverages = 2
	const last = ` average.gain conv.0.weight conv.1.weight attn.o.weight attn.o.bias mlp.fc2.weight mlp.fc2.bias `
	for _, scaled := range []bool{false, true} {
		c.ResidualScale = scaled
		flat := *c
		flat.Chunks = nil
		words, p, flatWords, q := Initialize(c, 5), NewParameters(c), Initialize(&flat, 5), NewParameters(&flat)
		cleared, zero := 0, func(x []float32) bool {
			return !slices.ContainsFunc(x, func(v float32) bool { return v != 0 })
		}
		for i, x := range q.List { // the parameters of exports follow the layers
			layer, name, ok := strings.Cut(strings.TrimPrefix(x.Name, "layers."), ".")
			if !ok || !strings.HasPrefix(x.Name, "layers.") || zero(q.Slice(flatWords, x)) ||
				!zero(p.Slice(words, p.List[i])) {
				continue
			}
			if cleared++; layer < "1" || !strings.Contains(last, " "+name+" ") {
				t.Errorf("%s is 0", x.Name)
			}
		}
		if want := map[bool]int{false: 2 * 7, true: 0}[scaled]; cleared != want {
			t.Errorf("residual scale %v: %d parameters are 0, expected %d", scaled, cleared, want)
		}
	}
}

// TestInitialAverages checks that the averages of both directions begin with the same half-lives, and that
// the gains of N averages per direction begin with the mean square 1/(2N).
func TestInitialAverages(t *testing.T) {
	for averages, halfLives := range map[int][]float64{1: {16}, 4: {2, 8, 32, 128}} {
		c := configtest.TinyConfig()
		c.HiddenSize, c.MovingAverages = 600, averages
		words, p := Initialize(c, 5), NewParameters(c)
		decay, _ := p.Lookup("layers.1.average.decay")
		for i, v := range p.Slice(words, decay) {
			want := halfLives[i/c.HiddenSize%averages]
			if got := -1 / math.Log2(1/(1+math.Exp(-float64(v)))); math.Abs(got-want) > 1e-3*want {
				t.Errorf("%d averages: average %d has a half-life of %v tokens, want %v", averages,
					i/c.HiddenSize, got, want)
			}
		}
		gain, _ := p.Lookup("layers.1.average.gain")
		square := 0.0
		for _, v := range p.Slice(words, gain) {
			square += float64(v) * float64(v) / float64(c.HiddenSize)
		}
		if math.Abs(square-1) > 0.15 {
			t.Errorf("%d averages: the mean over channels of the sum of squared gains is %v, want 1", averages, square)
		}
	}
}

// TestInitialDistributions checks that the largest uniform value of a parameter is close to the bound 1/√in, and that
// normal values have the mean 0 and the expected mean square. Parameters with weight decay must precede
// the others.
func TestInitialDistributions(t *testing.T) {
	c := configtest.TinyConfig()
	c.VocabSize, c.HiddenSize, c.NumHeads, c.IntermediateSize, c.SinusoidDim = 90, 64, 4, 32, 48
	c.Convolutions = []config.Convolution{{KernelSize: 5, Dilation: 1}}
	p, words := NewParameters(c), Initialize(c, 1)
	valuesOf := func(name string) []float32 {
		q, ok := p.Lookup(name)
		if !ok {
			t.Fatalf("no parameter %s", name)
		}
		return p.Slice(words, q)
	}
	for name, in := range map[string]float64{"layers.0.conv.0.weight": 5, "layers.0.attn.q.weight": 64,
		"layers.0.attn.q.bias":    64,
		"layers.0.mlp.fc2.weight": 32, "layers.0.mlp.fc2.bias": 32, "head.out.weight": 64} {
		largest := 0.0
		for _, v := range valuesOf(name) {
			largest = max(largest, math.Abs(float64(v)))
		}
		if bound := 1 / math.Sqrt(in); largest > bound || largest < 0.9*bound {
			t.Errorf("%s: the largest magnitude is %v, expected %v to %v", name, largest, 0.9*bound, bound)
		}
	}
	for name, want := range map[string]float64{"embed.weight": 1, "layers.0.sampler.weight": 1.0 / 64,
		"head.pool.weight":             1.0 / 64,
		"layers.0.attn.rel_mul.weight": 0.02 * 0.02, "layers.0.attn.rel_add.weight": 0.02 * 0.02} {
		mean, square := 0.0, 0.0
		x := valuesOf(name)
		for _, v := range x {
			mean += float64(v) / float64(len(x))
			square += float64(v) * float64(v) / float64(len(x))
		}
		if sigma := math.Sqrt(2 / float64(len(x))); math.Abs(square/want-1) > 4*sigma ||
			mean*mean > 16*want/float64(len(x)) {
			t.Errorf("%s: mean %v, mean square %v, expected 0 and %v", name, mean, square, want)
		}
	}
	for _, q := range p.List {
		if q.Decay != (q.Offset < p.Decayed) {
			t.Errorf("%s has weight decay %v at offset %d, but the parameters with weight decay end at %d", q.Name,
				q.Decay, q.Offset, p.Decayed)
		}
	}
}

// TestInitialContexts checks that the linear layer of the contexts begins at 0, so that the contexts do not affect
// initial predictions.
func TestInitialContexts(t *testing.T) {
	for name, c := range configtest.TokenChunkConfigs() {
		params, words := NewParameters(c), Initialize(c, 3)
		for _, parameter := range []string{"head.context.weight", "head.context.bias"} {
			p, ok := params.Lookup(parameter)
			if !ok || slices.ContainsFunc(params.Slice(words, p), func(v float32) bool { return v != 0 }) {
				t.Errorf("%s: %s is missing, or not 0", name, parameter)
			}
		}
	}
}
