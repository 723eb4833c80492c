package train

import (
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

// TestMaxPooling compares models with max pooling, over all tokens or a sample of them, with the
// reference: logits and explanations.
func TestMaxPooling(t *testing.T) {
	models := map[string]*sft.Model{}
	var names []string
	for _, task := range []string{config.Classification, config.Retrieval, config.Regression, config.MultiLabel} {
		for _, n := range []int{0, 1, 3, 11, 1000} {
			c := configtest.WithTask(configtest.TinyConfig(), task)
			c.NormPosition, c.Pooling, c.PoolingSamples = []string{"pre", "post"}[n%2], config.MaxPooling, n
			name := task + " " + c.NormPosition + " " + map[int]string{0: "all", 1: "one", 3: "three", 11: "eleven",
				1000: "more than all"}[n]
			names = append(names, name)
			models[name] = modeltest.RandomModel(c, uint64(n+4))
		}
	}
	configtest.OnEveryDevice(t, names, func(t *testing.T, name string, device tensor.Device) {
		m := models[name]
		examples := configtest.RandomExamples(m.Config, rand.New(rand.NewPCG(8, 8)), 1, 2, 23, 40, 7, 12)
		r := modeltest.NewReference(m)
		for i, o := range modeltest.Explain(t, modeltest.NewScorerOf(t, m, device), examples) {
			logits, want := r.Example(examples[i])
			for j, v := range logits {
				if !(math.Abs(float64(o.Logits[j])-v) <= 1e-5) {
					t.Errorf("example %d, logit %d: %v, expected %v", i, j, o.Logits[j], v)
				}
			}
			for at, e := range o.Explanations {
				if off := modeltest.CompareExplanation(t, e, want[at]); !(off <= 1e-5) {
					t.Errorf("example %d, explanation %d: off by %.1e, want at most 1e-5", i, at, off)
				}
				modeltest.CheckSums(t, m.Config, e)
			}
		}
	})
}

// TestMaxPoolingDrops checks that dropped tokens are not sampled in training, even if fewer tokens
// remain than the sample size.
func TestMaxPoolingDrops(t *testing.T) {
	for _, n := range []int{4, 1000} {
		c := configtest.CloudConfig(configtest.TinyConfig())
		c.NormPosition, c.NumLayers, c.DropToken, c.Pooling, c.PoolingSamples = "post", 1, 0.7, config.MaxPooling, n
		m := modeltest.RandomModel(c, 5)
		bias, _ := m.Parameters.Lookup("layers.0.norm2.bias")
		for i := range bias.Size() { // makes values negative, so that a row of zeros in the sample would be the maximum
			m.Parameters.Slice(m.Weights, bias)[i] = -10
		}
		clouds := configtest.RandomClouds(c, rand.New(rand.NewPCG(4, 2)), 1, 3, 9, 30, 17)
		r := modeltest.NewReference(m)
		r.Training = &model.Drawing{Mode: model.TrainMode, Seed: 12, Step: 0}
		want, _ := r.ClassificationLoss(clouds)
		s := runSettings()
		s.Seed, s.Batch, s.TokenDeletion, s.TokenReplacement = 12, len(clouds), 0, 0
		stepper := must.Get(NewStepper(m, s, cpu.New(2), 30, 0))(t)
		defer stepper.Close()
		if got, err := stepper.Step(t.Context(), clouds); err != nil || !(math.Abs(got-want) <= 1e-5) {
			t.Errorf("%d sampled: loss %v, expected %v, error %v", n, got, want, err)
		}
	}
}

// TestMaxPoolingOrder checks that the order of the points does not change the logits, if the
// pooling reads all points or samples all of them.
func TestMaxPoolingOrder(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 5))
	for _, n := range []int{0, 64} {
		c := configtest.CloudConfig(configtest.GoldenConfig(config.Classification))
		c.NumSampledTokens, c.NumLayers, c.Pooling, c.PoolingSamples = 64, 2, config.MaxPooling, n
		m := modeltest.RandomModel(c, 11)
		clouds := configtest.RandomClouds(c, random, 33, 64, 7)
		before := scoreAll(t, m, clouds)
		after := scoreAll(t, m, transformClouds(c, clouds, func([]float32, bool) {}, random.Perm))
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
			t.Errorf("%d sampled: a different cloud has the same logits %v", n, x)
		}
	}
}

// TestMaxPoolingStarts checks that a model with max pooling copies every weight from a model with
// another pooling, except the weights of the pooling's sampler.
func TestMaxPoolingStarts(t *testing.T) {
	c := configtest.TinyConfig()
	c.Pooling, c.PoolingSamples = config.MaxPooling, 4
	fresh, err := sft.NewModel(c, 2).CopyFrom(modeltest.RandomModel(configtest.TinyConfig(), 1))
	var names []string
	for _, p := range fresh {
		names = append(names, p.Name)
	}
	if want := []string{"head.sampler.weight", "head.sampler.bias"}; err != nil || !slices.Equal(names, want) {
		t.Errorf("fresh %q, expected %q, error %v", names, want, err)
	}
}

// TestMaxPoolingLearns checks that training on clouds whose classes differ in the maximum of a
// feature halves the loss and changes the sampler's weights.
func TestMaxPoolingLearns(t *testing.T) {
	c := configtest.CloudConfig(configtest.TinyConfig())
	c.NumLayers, c.NumLabels, c.Pooling, c.PoolingSamples = 1, 2, config.MaxPooling, 6
	m := modeltest.RandomModel(c, 3)
	random := rand.New(rand.NewPCG(1, 7))
	clouds := configtest.RandomClouds(c, random, slices.Repeat([]int{15}, 24)...)
	for i := range clouds { // in each cloud of class 1, one point has a large first feature
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
	after := &sft.Model{Config: c, Parameters: m.Parameters,
		Weights: readWords(t, stepper.engine.Weights)[:m.Parameters.Words]}
	if loss := meanLoss(t, after, clouds); !(loss < before/2) {
		t.Errorf("loss %v before training, %v after, want less than half", before, loss)
	}
	moved, _ := norms(after.Parameters.Slice(after.Weights, scores), first)
	if moved == 0 {
		t.Error("training did not change the sampler's weights")
	}
}

// scoreAll returns the logits of each example, computed by a new scorer.
func scoreAll(t *testing.T, m *sft.Model, examples []seq.Example) (logits [][]float32) {
	t.Helper()
	out := must.Get(modeltest.NewTestScorer(t, m).Examples(t.Context(), examples))(t)
	for _, o := range out {
		logits = append(logits, o.Logits)
	}
	return logits
}
