package model

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/tensor"
	"github.com/sftseq/sftseq/sft/config"
	"github.com/sftseq/sftseq/sft/internal/configtest"
)

// tied is a model whose embedding W is also the output layer of two outputs:
//
//	x = W[token],  loss = Σ CE(GELU(x)·Wᵀ + b, label) + Σ CE(x·Wᵀ + b, other)
type tied struct {
	vocab, hidden        int
	tokens, label, other []int32
	params               *config.Parameters
}

func newTied(random *rand.Rand) *tied {
	m := &tied{vocab: 7, hidden: 5}
	m.params = config.LayoutParameters([]config.Parameter{{Name: "embed.weight", Shape: []int{m.vocab, m.hidden}},
		{Name: "embed.bias", Shape: []int{m.vocab}}})
	for range 11 {
		m.tokens = append(m.tokens, int32(random.IntN(m.vocab-1))) // the last id is not an input
		m.label = append(m.label, int32(random.IntN(m.vocab)))
		m.other = append(m.other, int32(random.IntN(m.vocab)))
	}
	return m
}

// loss computes the loss in float64.
func (m *tied) loss(w []float64) (loss float64) {
	row := func(v int32) []float64 { return w[int(v)*m.hidden:][:m.hidden] }
	crossEntropy := func(x []float64, label int32) float64 {
		sum, labelLogit := 0.0, 0.0
		for v := range m.vocab {
			z := w[m.params.List[1].Offset+v]
			for c, e := range row(int32(v)) {
				z += x[c] * e
			}
			if sum += math.Exp(z); v == int(label) {
				labelLogit = z
			}
		}
		return math.Log(sum) - labelLogit
	}
	for t, token := range m.tokens {
		x := row(token)
		gelu := make([]float64, m.hidden)
		for c, v := range x {
			gelu[c] = v * (1 + math.Erf(v/math.Sqrt2)) / 2
		}
		loss += crossEntropy(gelu, m.label[t]) + crossEntropy(x, m.other[t])
	}
	return loss
}

// gradient returns the gradient that the recorded pass computes on a device.
func (m *tied) gradient(t *testing.T, device tensor.Device, weights []float32) []float32 {
	t.Helper()
	n := len(m.tokens)
	e := newEmitter(&config.Config{Task: config.Classification}, m.params,
		passShape{Tokens: n, Sequences: 1}, TrainMode)
	e.Segment("forward")
	x := e.tokens("x", m.hidden)
	e.Launch(tensor.Embed{Y: x, Token: e.batch.Tokens, Weight: e.weight("embed.weight")})
	y := e.like(x, "gelu")
	e.Launch(tensor.GELU{Y: y, X: x})
	scale := e.Input("scale", tensor.Fixed, m.vocab)
	loss := func(name string, x *tensor.Tensor) (dlogits, label *tensor.Tensor) {
		logits := e.linear("embed", x)
		dlogits, label = e.like(logits, name+".grad"), e.Input(name, tensor.Tokens, n)
		e.Launch(tensor.CrossEntropy{Loss: e.tokens(name+".loss", 1), DLogits: dlogits, Logits: logits,
			Label: label, Scale: scale})
		return dlogits, label
	}
	dlogits, label := loss("label", y)
	dothers, other := loss("other", x)
	e.Segment("backward")
	dx := e.like(x, "x.grad")
	e.linearBackward("embed", dx, dlogits, y, false)
	e.Launch(tensor.GELUBackward{DX: dx, DY: dx, X: x})
	e.linearBackward("embed", dx, dothers, x, true)
	e.Launch(tensor.EmbedBackward{DWeight: e.gradient("embed.weight"), DY: dx, Token: e.batch.Tokens})
	p := e.Finish()

	run := must.Get(device.Prepare(p))(t)
	var mem tensor.Binding
	for region, words := range map[tensor.Region]int{tensor.Arena: p.Words(tensor.Arena),
		tensor.Inputs:  p.Words(tensor.Inputs),
		tensor.Weights: m.params.Words, tensor.Gradients: m.params.Words} {
		mem[region] = must.Get(device.Allocate(words))(t)
		defer mem[region].Free()
	}
	ones, garbage := make([]float32, m.vocab), make([]float32, m.params.Words)
	for i := range ones {
		ones[i] = 1
	}
	for i := range garbage {
		garbage[i] = float32(math.NaN())
	}
	in := mem[tensor.Inputs]
	for _, err := range []error{
		tensor.Upload(in, p.Counts, tensor.Counts{Tokens: int32(n), Sequences: 1, Examples: 1,
			Longest: int32(n)}.Words()),
		tensor.Upload(in, e.batch.Tokens, m.tokens), tensor.Upload(in, label, m.label),
		tensor.Upload(in, other, m.other), tensor.Upload(in, scale, ones),
		mem[tensor.Weights].Write(0, tensor.Bits(weights)), mem[tensor.Gradients].Write(0, tensor.Bits(garbage)),
		run.Run(t.Context(), mem, 0, len(p.Segments)),
	} {
		must.Succeed(t, err)
	}
	gradient := make([]float32, m.params.Words)
	must.Succeed(t, mem[tensor.Gradients].Read(0, tensor.Bits(gradient)))
	return gradient
}

// TestTiedWeights checks that the gradient of a parameter with several uses is the sum over its
// uses, even if the memory held other values before.
func TestTiedWeights(t *testing.T) { configtest.OnEveryKind(t, testTiedWeights) }

func testTiedWeights(t *testing.T, devices ...tensor.Device) {
	random := rand.New(rand.NewPCG(1, 9))
	m := newTied(random)
	weights, exact := make([]float32, m.params.Words), make([]float64, m.params.Words)
	for i := range weights {
		weights[i] = float32(random.NormFloat64())
		exact[i] = float64(weights[i])
	}
	for _, device := range devices {
		gradient := m.gradient(t, device, weights)
		for _, p := range m.params.List {
			for i := p.Offset; i < p.Offset+p.Size(); i++ {
				const h = 1e-5
				at := func(step float64) float64 {
					kept := exact[i]
					defer func() { exact[i] = kept }()
					exact[i] += step
					return m.loss(exact)
				}
				want := (at(h) - at(-h)) / (2 * h)
				if got := float64(gradient[i]); !(math.Abs(got-want) <= 2e-5) {
					t.Errorf("%s: element %d: %v, by differences %v", p.Name, i-p.Offset, got, want)
				}
			}
		}
	}
}

// TestGradientsAreAssigned checks that a pass assigns each gradient exactly once, before it adds terms,
// because nothing clears gradients first. Only residual scales and tied embeddings may have added terms.
func TestGradientsAreAssigned(t *testing.T) {
	configs := configtest.RandomConfigs()
	for _, task := range config.Tasks() {
		configs = append(configs, configtest.WithTask(configtest.TrainingConfig(), task))
	}
	tied := configtest.WithTask(configtest.TrainingConfig(), config.FillMask)
	tied.TieEmbeddings = true
	configs = append(configs, tied)
	for _, c := range configs {
		params := NewParameters(c)
		pass := must.Get(newPass(c, params, passShape{Tokens: 64, Sequences: 4, Sampled: 64}, TrainMode))(t)
		assigned := map[string]int{}
		for _, k := range pass.Program.Launches {
			added := map[*tensor.Tensor]bool{}
			for _, x := range tensor.Reads(k) {
				added[x] = true
			}
			for _, x := range tensor.Writes(k) {
				switch {
				case x.Region != tensor.Gradients:
				case !added[x]:
					assigned[x.Name]++
				case assigned[x.Name] == 0 || tensor.Name(k) != "residualscale_backward" &&
					!(c.TieEmbeddings && x.Name == "embed.weight.grad"):
					t.Errorf("%s adds to %v, which was assigned %d times", tensor.Name(k), x, assigned[x.Name])
				}
			}
		}
		for _, p := range params.List {
			if n := assigned[p.Name+".grad"]; n != 1 {
				t.Errorf("%s is assigned %d times, want once", p.Name, n)
			}
		}
	}
}

// TestTermOfAnotherLaunch checks that recording panics if a launch does not write its pending
// gradient term.
func TestTermOfAnotherLaunch(t *testing.T) {
	m := newTied(rand.New(rand.NewPCG(1, 9)))
	e := newEmitter(&config.Config{Task: config.Classification}, m.params,
		passShape{Tokens: 1, Sequences: 1}, TrainMode)
	e.Segment("only")
	e.Launch(tensor.Zero{Y: e.gradient("embed.bias")})
	e.gradient("embed.bias")
	defer func() {
		if text, _ := recover().(string); !strings.Contains(text,
			"embed.bias.grad.term[7], which nothing has written") {
			t.Errorf("panic %q, want one that names the missing term", text)
		}
	}()
	e.Launch(tensor.Zero{Y: e.tokens("x", 1)})
}
