package train

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sftseq/sftseq/internal/cpu"
	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/tensor"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/sft/config"
	"github.com/sftseq/sftseq/sft/internal/configtest"
	"github.com/sftseq/sftseq/sft/internal/model"
	"github.com/sftseq/sftseq/sft/internal/modeltest"
)

// TestGradientAgainstDifferences changes each tensor along its gradient, for every task and several
// configurations. The change of the loss must match the gradient's norm.
func TestGradientAgainstDifferences(t *testing.T) {
	for _, s := range []struct {
		norm, score, probability, relative string
		convolutions                       []config.Convolution
		pooling                            string
		samples                            int
	}{
		{"pre", "maxout_standardized", "relu", "sinusoid_hadamard", nil, "", 0},
		{"post", "lily", "softmax", "sinusoid_hadamard", nil, "", 0},
		{"pre", "dot", "leaky_relu", "none", nil, "", 0},
		{"post", "maxout", "leaky_relu", "sinusoid_hadamard", nil, "", 0},
		{"pre", "maxout", "leaky_relu", "sinusoid_hadamard", []config.Convolution{{KernelSize: 3, Dilation: 2},
			{KernelSize: 5, Dilation: 1}}, "", 0},
		{"post", "dot", "softmax", "sinusoid_hadamard", []config.Convolution{{KernelSize: 3, Dilation: 1},
			{KernelSize: 5, Dilation: 4}}, "", 0},
		{"pre", "dot", "relu", "none", nil, config.MaxPooling, 0},
		// Samples all tokens, because a change of the weights could change a sample.
		{"post", "maxout", "leaky_relu", "sinusoid_hadamard", nil, config.MaxPooling, 100},
		// An empty probability stands for a model without attention.
		{"pre", "maxout", "", "none", []config.Convolution{{KernelSize: 3, Dilation: 2}}, "", 0},
		{"post", "maxout", "", "none", nil, config.MaxPooling, 100},
	} {
		for _, task := range config.Tasks() {
			c := configtest.WithTask(configtest.TinyConfig(), task)
			c.NormPosition, c.Score, c.Relative = s.norm, s.score, s.relative
			c.Probability = cmp.Or(s.probability, c.Probability)
			if c.Convolutions = s.convolutions; c.Convolutions != nil {
				c.NumSampledTokens = 100 // all tokens, because a sample could change
			}
			if s.probability == "" {
				c.NumSampledTokens = 0
			}
			if c.Pooling, c.PoolingSamples = s.pooling, s.samples; s.pooling != "" && !c.Pools() {
				continue
			}
			for _, f := range configtest.Switches(c) {
				f.SetBool(true)
			}
			if s.score == "maxout" && s.pooling == "" && task != config.FillMask {
				c.NGrams = configtest.TokenNGrams()
			}
			c.NumLayers = 1 // the sample of a second layer could change
			t.Run(fmt.Sprintf("%s %s %s %s %s", task, s.score, s.probability, s.norm, s.pooling),
				func(t *testing.T) { compareDifferences(t, c) })
		}
	}
}

func compareDifferences(t *testing.T, c *config.Config) {
	m := modeltest.RandomModel(c, 3)
	for _, p := range m.Parameters.List {
		if p.Part == config.PartResidual { // makes the residual branches matter
			m.Parameters.Slice(m.Weights, p)[0] = 0.8
		}
	}
	examples := configtest.RandomExamples(c, rand.New(rand.NewPCG(8, 8)), 9, 3, 8, 12, 1)
	gradient, loss := must.Get2(Gradient(context.Background(), m, cpu.New(1), examples))(t)
	if got := meanLoss(t, m, examples); math.Abs(got-loss) > 1e-6 {
		t.Errorf("loss %v with a backward pass, %v without", loss, got)
	}
	compared := 0
	for _, p := range m.Parameters.List {
		compared += compareDifference(t, m, p, gradient, examples)
	}
	if m.NGrams != nil { // the table is separate from m.Parameters
		_, b := weightedGradient(t, m, 1, cpu.New(1), examples,
			model.Drawing{Mode: model.EvaluateMode, Seed: c.SamplerSeed}, nil)
		g := denseRows(b.ngrams, len(m.NGrams.Weights), c.HiddenSize)
		for i := range g {
			g[i] /= float32(b.divisor)
		}
		loss := func() float64 { return meanLoss(t, m, examples) }
		if compareRange(t, model.NGramWeight, m.NGrams.Weights, g, loss) == 0 {
			t.Error("the gradient of n-grams is too small to compare")
		}
	}
	if compared < len(m.Parameters.List)*2/3 {
		t.Errorf("only %d of %d tensors were compared", compared, len(m.Parameters.List))
	}
}

func meanLoss(t *testing.T, m *sft.Model, examples []seq.Example) float64 {
	t.Helper()
	return meanLossOn(t, m, cpu.New(1), examples)
}

func meanLossOn(t *testing.T, m *sft.Model, device tensor.Device, examples []seq.Example) float64 {
	t.Helper()
	tally := trainingOf(m.Config).measure(m.Config, &Settings{})
	for i, x := range measureOn(t, m, device, examples) {
		tally.add(x, examples[i])
	}
	var r EvaluationReport
	tally.report(&r)
	return r.Loss
}

// measureOn returns the outputs of an evaluation's passes for each example.
func measureOn(t *testing.T, m *sft.Model, device tensor.Device, examples []seq.Example) [][]float32 {
	t.Helper()
	r := must.Get(model.OpenRunner(m.Config, m.Weights, m.NGrams, device, 1))(t)
	t.Cleanup(r.Close)
	return must.Get(r.Measured(t.Context(), examples))(t)
}

// compareDifference compares the slope of the loss along a tensor's gradient with the gradient's norm. It
// returns 1 if they match and the gradient is large enough for float32 losses, otherwise 0. A mismatch is
// an error only if the slopes for two step sizes agree. They differ where the loss jumps, as the quotient of
// a relu probability does when its last term becomes 0.
func compareDifference(t *testing.T, m *sft.Model, p config.Parameter, gradient []float32, examples []seq.Example) int {
	t.Helper()
	return compareRange(t, p.Name, m.Parameters.Slice(m.Weights, p), m.Parameters.Slice(gradient, p),
		func() float64 { return meanLoss(t, m, examples) })
}

// compareRange is compareDifference for weights w with the gradient g.
func compareRange(t *testing.T, name string, w, g []float32, loss func() float64) int {
	t.Helper()
	_, norm := norms(g, g)
	const h, noise = 2e-3, 1e-4 // losses have an error of about 1e-7
	kept := slices.Clone(w)
	at := func(step float64) float64 {
		for i := range w {
			w[i] = kept[i] + float32(step*float64(g[i])/max(norm, 1e-12))
		}
		return loss()
	}
	slope := func(h float64) float64 { return (at(h) - at(-h)) / (2 * h) }
	got := slope(h)
	if !(math.Abs(got-norm) <= 1e-2*norm+noise) {
		if half := slope(h / 2); !(math.Abs(got-half) > 2e-2*math.Abs(got)+noise) {
			t.Errorf("%s: slope %.6f, the gradient's norm is %.6f", name, got, norm)
		}
		norm = 0
	}
	copy(w, kept)
	if norm > 20*noise {
		return 1
	}
	return 0
}

// TestAllTokensDropped checks that a sequence keeps all tokens if the draw would drop every token.
func TestAllTokensDropped(t *testing.T) { configtest.OnEveryKind(t, testAllTokensDropped) }

func testAllTokensDropped(t *testing.T, devices ...tensor.Device) {
	c := configtest.TinyConfig()
	c.NumSampledTokens = 3
	all, none := *c, *c
	all.DropToken = 0.9999999
	m := modeltest.RandomModel(c, 1)
	examples := configtest.RandomExamples(c, rand.New(rand.NewPCG(1, 2)), 1, 2, 7, 40)
	with := &sft.Model{Config: &all, Parameters: m.Parameters, Weights: m.Weights}
	without := &sft.Model{Config: &none, Parameters: m.Parameters, Weights: m.Weights}
	got, b := gradientOf(t, with, 1, devices[0], examples, model.TrainMode)
	want, _ := gradientOf(t, without, 1, devices[0], examples, model.TrainMode)
	if !slices.Equal(got, want) {
		t.Errorf("dropping all tokens differs from dropping none; losses %v", b.loss)
	}
	all.DropToken = 0.5
	if half, _ := gradientOf(t, with, 1, devices[0], examples, model.TrainMode); slices.Equal(half, want) {
		t.Error("dropping half of the tokens does not change the gradient")
	}
}

// TestMoreSamplesThanTokens checks that the number k of sampled tokens changes the logits only if k is
// below the length of the sequence.
func TestMoreSamplesThanTokens(t *testing.T) { configtest.OnEveryKind(t, testMoreSamplesThanTokens) }

func testMoreSamplesThanTokens(t *testing.T, devices ...tensor.Device) {
	logits := func(k int) (out [][]float32) {
		c := configtest.TinyConfig()
		c.NumSampledTokens = k
		m := modeltest.RandomModel(c, 1)
		for _, o := range modeltest.Score(t, modeltest.NewScorerOf(t, m, devices[0]),
			configtest.RandomExamples(c, rand.New(rand.NewPCG(3, 2)), 1, 2, 7, 12)) {
			out = append(out, o.Logits)
		}
		return out
	}
	exact, more, fewer := logits(12), logits(100), logits(11)
	for i := range exact {
		if !slices.Equal(exact[i], more[i]) {
			t.Errorf("example %d: logits %v with k 100, want %v as with k 12", i, more[i], exact[i])
		}
		if equal := slices.Equal(exact[i], fewer[i]); equal != (i < 3) {
			t.Errorf("example %d: logits %v with k 11, %v with k 12, equal %t, want %t", i, fewer[i], exact[i],
				equal, i < 3)
		}
	}
}

// TestSamplerNoise checks that the noise "always" changes the logits of an evaluation and depends
// only on the sampler's seed.
func TestSamplerNoise(t *testing.T) { configtest.OnEveryKind(t, testSamplerNoise) }

func testSamplerNoise(t *testing.T, devices ...tensor.Device) {
	logits := func(noise string, seed uint64) []float32 {
		c := configtest.TinyConfig()
		c.SamplerNoise, c.SamplerSeed = noise, seed
		m := modeltest.RandomModel(c, 1)
		return modeltest.Score(t, modeltest.NewScorerOf(t, m, devices[0]),
			configtest.RandomExamples(c, rand.New(rand.NewPCG(3, 2)), 60))[0].Logits
	}
	quiet, noisy := logits("train", 7), logits("always", 7)
	if slices.Equal(quiet, noisy) {
		t.Error("sampler noise does not change the logits")
	}
	if !slices.Equal(noisy, logits("always", 7)) {
		t.Error("the logits differ for equal seeds")
	}
	if slices.Equal(noisy, logits("always", 8)) {
		t.Error("the logits are equal for different seeds")
	}
}

// TestTrainingDrawsByExample checks that an example's loss in training depends on its row index, but not on
// the other examples of the batch.
func TestTrainingDrawsByExample(t *testing.T) { configtest.OnEveryKind(t, testTrainingDrawsByExample) }

func testTrainingDrawsByExample(t *testing.T, devices ...tensor.Device) {
	c := configtest.TrainingConfig()
	m := modeltest.RandomModel(c, 2)
	examples := configtest.RandomExamples(c, rand.New(rand.NewPCG(4, 4)), 50, 60, 70)
	_, all := gradientOf(t, m, 1, devices[0], examples, model.TrainMode)
	for i := range examples {
		_, alone := gradientOf(t, m, 1, devices[0], examples[i:i+1], model.TrainMode)
		if alone.loss[0] != all.loss[i] {
			t.Errorf("example %d: loss %v alone, want %v as in a batch", i, alone.loss[0], all.loss[i])
		}
		other := examples[i]
		other.Index++
		if _, b := gradientOf(t, m, 1, devices[0], []seq.Example{other}, model.TrainMode); b.loss[0] == all.loss[i] {
			t.Errorf("example %d: the loss is equal for different row indices", i)
		}
	}
}
