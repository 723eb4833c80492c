package sft

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/cpu"
	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/tensor"
)

// TestMaxPooling compares models that take the maximum of each channel, over all tokens or a
// sample of them, with the reference: their logits, their vectors and what each token is of
// these.
func TestMaxPooling(t *testing.T) {
	models := map[string]*Model{}
	var names []string
	for _, task := range []string{Classification, Retrieval, Regression, MultiLabel} {
		for _, n := range []int{0, 1, 3, 11, 1000} {
			c := ofTask(tinyConfig(), task)
			c.NormPosition, c.Pooling, c.PoolingSamples = []string{"pre", "post"}[n%2], MaxPooling, n
			name := task + " " + c.NormPosition + " " + map[int]string{0: "all", 1: "one", 3: "three", 11: "eleven",
				1000: "more than there are"}[n]
			names = append(names, name)
			models[name] = randomModel(c, uint64(n+4))
		}
	}
	onEveryDevice(t, names, func(t *testing.T, name string, device tensor.Device) {
		m := models[name]
		examples := randomExamples(m.Config, rand.New(rand.NewPCG(8, 8)), 1, 2, 23, 40, 7, 12)
		r := newReference(m)
		for i, o := range explain(t, newScorerOf(t, m, device), examples) {
			logits, want := r.example(examples[i])
			for j, v := range logits {
				if !(math.Abs(float64(o.Logits[j])-v) <= 1e-5) {
					t.Errorf("example %d, logit %d: %v, expected %v", i, j, o.Logits[j], v)
				}
			}
			for at, e := range o.Explanations {
				if off := compareExplanation(t, e, want[at]); !(off <= 1e-5) {
					t.Errorf("example %d: explanation off by %.1e", i, off)
				}
				checkSums(t, m.Config, e)
			}
		}
	})
}

// TestMaxPoolingSample: the sample of the pooling is as large as it is told, has rows of its own,
// and draws other random numbers than those of the layers.
func TestMaxPoolingSample(t *testing.T) {
	c := tinyConfig()
	c.VocabSize, c.NumLayers, c.NumSampledTokens, c.Pooling, c.PoolingSamples = 2, 1, 6, MaxPooling, 9
	p := must.Get(newPass(c, NewParameters(c), shapeFor(c, 64, 1, 6, 0), trainMode))(t)
	var samples []tensor.Sample
	for _, k := range p.Program.Launches {
		if s, ok := k.(tensor.Sample); ok {
			samples = append(samples, s)
		}
	}
	if len(samples) != 2 || samples[0].K != 6 || samples[1].K != 9 || samples[1].Layer != 1 || !samples[1].Noise ||
		samples[1].Top.Rows != tensor.Pooled {
		t.Errorf("%+v", samples)
	}
}

// TestMaxPoolingDrops: in training, tokens that are dropped are not in the sample, so that
// there may be fewer rows than there is room for.
func TestMaxPoolingDrops(t *testing.T) {
	for _, n := range []int{4, 1000} {
		c := cloudConfig(tinyConfig())
		c.NormPosition, c.NumLayers, c.DropToken, c.Pooling, c.PoolingSamples = "post", 1, 0.7, MaxPooling, n
		m := randomModel(c, 5)
		bias, _ := m.Parameters.Lookup("layers.0.norm2.bias")
		for i := range bias.Size() { // so that a row of zeros would have each maximum
			m.Parameters.Slice(m.Weights, bias)[i] = -10
		}
		clouds := randomClouds(c, rand.New(rand.NewPCG(4, 2)), 1, 3, 9, 30, 17)
		r := newReference(m)
		r.training = &drawing{trainMode, 12, 0}
		want, _ := r.classificationLoss(clouds)
		s := runSettings()
		s.Seed, s.Batch, s.TokenDeletion, s.TokenReplacement = 12, len(clouds), 0, 0
		stepper := must.Get(NewStepper(m, s, cpu.New(2), 30, 0))(t)
		defer stepper.Close()
		if got, err := stepper.Step(t.Context(), clouds); err != nil || !(math.Abs(got-want) <= 1e-5) {
			t.Errorf("%d sampled: loss %v, expected %v, error %v", n, got, want, err)
		}
	}
}

// TestMaxPoolingOrder: points in another order have the same answer, where all of them are
// sampled, or none for the pooling: the maximum itself has no order.
func TestMaxPoolingOrder(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 5))
	for _, n := range []int{0, 64} {
		c := cloudConfig(goldenConfig(Classification))
		c.NumSampledTokens, c.NumLayers, c.Pooling, c.PoolingSamples = 64, 2, MaxPooling, n
		m := randomModel(c, 11)
		clouds := randomClouds(c, random, 33, 64, 7)
		before := scoreAll(t, m, clouds)
		after := scoreAll(t, m, movedClouds(c, clouds, func([]float32, bool) {}, random.Perm))
		for i := range before {
			for j, v := range before[i] {
				if !(math.Abs(float64(v-after[i][j])) <= 1e-5) {
					t.Errorf("%d sampled: cloud %d: logit %v, in another order %v", n, i, v, after[i][j])
				}
			}
		}
		other := slices.Clone(clouds)
		other[1].Features = slices.Clone(other[1].Features)
		other[1].Features[0] = other[1].Features[1]
		if x := scoreAll(t, m, other)[1]; slices.Equal(x, before[1]) {
			t.Errorf("%d sampled: another cloud has the same answer %v", n, x)
		}
	}
}

// TestMaxPoolingConfig: a pooling that cannot be is refused with its key.
func TestMaxPoolingConfig(t *testing.T) {
	for _, s := range []struct {
		change func(c *Config)
		want   string
	}{
		{func(c *Config) {}, ""},
		{func(c *Config) { c.Pooling = SoftmaxPooling }, ""},
		{func(c *Config) { c.Pooling = MaxPooling }, ""},
		{func(c *Config) { c.Pooling, c.PoolingSamples = MaxPooling, 1<<24 }, ""},
		{func(c *Config) { c.Pooling = "mean" }, `pooling: "mean", expected softmax, max`},
		{func(c *Config) { c.PoolingSamples = 512 },
			"pooling_samples: 512, expected 0: only the pooling max samples tokens"},
		{func(c *Config) { c.Pooling, c.PoolingSamples = SoftmaxPooling, 3 }, "pooling_samples: 3, expected 0: only"},
		{func(c *Config) { c.Pooling, c.PoolingSamples = MaxPooling, -1 },
			"pooling_samples: -1, expected 0 to 16777216"},
		{func(c *Config) { c.Pooling, c.PoolingSamples = MaxPooling, 1<<24+1 },
			"pooling_samples: 16777217, expected 0 to 16777216"},
		{func(c *Config) { *c = *ofTask(c, Tagging); c.Pooling = MaxPooling },
			`pooling: "max", expected none: the head of the task tagging`},
		{func(c *Config) { *c = *ofTask(c, FillMask); c.Pooling = SoftmaxPooling },
			`pooling: "softmax", expected none: the head of the task fill-mask`},
	} {
		c := tinyConfig()
		s.change(c)
		got := ""
		if err := c.Validate(); err != nil {
			got = err.Error()
		}
		if (s.want == "") != (got == "") || !strings.HasPrefix(got, s.want) {
			t.Errorf("%q, expected %q", got, s.want)
		}
	}
}

// TestMaxPoolingStarts: a model with another pooling than that which it starts from has a fresh
// sampler, and all else.
func TestMaxPoolingStarts(t *testing.T) {
	c := tinyConfig()
	c.Pooling, c.PoolingSamples = MaxPooling, 4
	fresh, err := NewModel(c, 2).CopyFrom(randomModel(tinyConfig(), 1))
	var names []string
	for _, p := range fresh {
		names = append(names, p.Name)
	}
	if want := []string{"head.sampler.weight", "head.sampler.bias"}; err != nil || !slices.Equal(names, want) {
		t.Errorf("fresh %q, expected %q, error %v", names, want, err)
	}
}

// TestMaxPoolingLearns: training makes the loss of rows smaller that a maximum tells apart, and
// the scores of its sampler learn, too.
func TestMaxPoolingLearns(t *testing.T) {
	c := cloudConfig(tinyConfig())
	c.NumLayers, c.NumLabels, c.Pooling, c.PoolingSamples = 1, 2, MaxPooling, 6
	m := randomModel(c, 3)
	random := rand.New(rand.NewPCG(1, 7))
	clouds := randomClouds(c, random, slices.Repeat([]int{15}, 24)...)
	for i := range clouds { // one of them has a hot point
		if clouds[i].Label == 1 {
			clouds[i].Features[random.IntN(15)][0] = 3
		}
	}
	s := runSettings()
	s.Batch, s.LearningRate, s.TokenDeletion, s.TokenReplacement = len(clouds), 0.01, 0, 0
	before := meanLoss(t, m, clouds)
	scores, _ := m.Parameters.Lookup("head.sampler.weight")
	first := slices.Clone(m.Parameters.Slice(m.Weights, scores))
	stepper := must.Get(NewStepper(m, s, cpu.New(2), 15, 0))(t)
	defer stepper.Close()
	for range 60 {
		must.Get(stepper.Step(t.Context(), clouds))(t)
	}
	after := &Model{Config: c, Parameters: m.Parameters, Weights: words(t, stepper.engine.weights)[:m.Parameters.Words]}
	if loss := meanLoss(t, after, clouds); !(loss < before/2) {
		t.Errorf("loss %v before, %v after", before, loss)
	}
	moved, _ := norms(after.Parameters.Slice(after.Weights, scores), first)
	if moved == 0 {
		t.Error("the sampler's scores have not learned")
	}
}
