package train

import (
	"errors"
	"maps"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/sftseq/sftseq/internal/cpu"
	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/tensor"
	"github.com/sftseq/sftseq/internal/testenv"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/sft/config"
	"github.com/sftseq/sftseq/sft/internal/configtest"
	"github.com/sftseq/sftseq/sft/internal/model"
	"github.com/sftseq/sftseq/sft/internal/modeltest"
)

// TestChunkGradients compares the gradients of chunked models with the float64 reference, in
// evaluation and in training: for each parameter, the derivatives along two random directions.
func TestChunkGradients(t *testing.T) {
	testenv.NoRace(t, "compares with slow loops in float64")
	type reference struct {
		loss        float64
		derivatives map[string][]float64
	}
	configs := configtest.ChunkConfigs()
	maps.Copy(configs, configtest.TokenChunkConfigs())
	cached := map[string]reference{}
	configtest.OnEveryDevice(t, []string{"content", "fixed", "post-norm", "pairs", "no attention", "max pooling",
		"tags", "post-norm tags", "masked tokens"},
		func(t *testing.T, name string, device tensor.Device) {
			c := configs[name]
			c.DropToken = 0.2
			m := modeltest.RandomModel(c, 3)
			examples := configtest.RandomExamples(c, rand.New(rand.NewPCG(8, 8)), 5, 60)
			for mode, d := range map[string]model.Drawing{
				"evaluation": {Mode: model.EvaluateMode, Seed: c.SamplerSeed},
				"training":   {Mode: model.TrainMode, Seed: 11, Step: 3},
			} {
				if c.Sequences() == 2 && d.Mode == model.TrainMode {
					continue // the reference draws no random numbers for a second sequence
				}
				random := rand.New(rand.NewPCG(9, 9))
				directions := map[string][2][]float64{}
				for _, p := range m.Parameters.List {
					directions[p.Name] = [2][]float64{randomVector(random, p.Size()), randomVector(random, p.Size())}
				}
				want, ok := cached[name+mode]
				if !ok {
					r := modeltest.NewReference(m)
					if d.Mode == model.TrainMode {
						r.Training = &d
					}
					want = reference{referenceLoss(r, examples), map[string][]float64{}}
					for name, both := range directions {
						for _, u := range both {
							derivative := r.Derivative(name, u, func() float64 { return referenceLoss(r, examples) })
							want.derivatives[name] = append(want.derivatives[name], derivative)
						}
					}
					cached[name+mode] = want
				}
				g, b := weightedGradient(t, m, 1, device, examples, d, nil)
				if counted := model.CountedLayers(c); d.Mode == model.TrainMode && len(b.deadRows) != counted {
					t.Errorf("dead rows of %d layers, expected %d", len(b.deadRows), counted)
				}
				loss := 0.0
				for _, v := range b.loss {
					loss += float64(v) / float64(b.divisor)
				}
				if !(math.Abs(loss-want.loss) <= 1e-5) {
					t.Errorf("%s: loss %v, expected %v", mode, loss, want.loss)
				}
				for _, p := range m.Parameters.List {
					for i, u := range directions[p.Name] {
						got, size := 0.0, 0.0
						for j, v := range m.Parameters.Slice(g, p) {
							v := float64(v) / float64(b.divisor)
							got, size = got+v*u[j], size+v*v
						}
						expected := want.derivatives[p.Name][i]
						if !(math.Abs(got-expected) <= 1e-3*math.Sqrt(size)+1e-6) {
							t.Errorf("%s: %s: derivative %g, expected %g", mode, p.Name, got, expected)
						}
					}
				}
			}
		})
}

// TestChunkRuns checks that training a chunked model has bitwise identical results with any number of
// threads and ranks, and after an interruption.
func TestChunkRuns(t *testing.T) {
	for _, task := range []string{config.Classification, config.Retrieval, config.Tagging, config.FillMask} {
		c := configtest.WithTask(configtest.TrainingConfig(), task)
		c.NumLayers, c.Chunks = 2, &config.Chunks{Rule: "content", Average: 256, Exports: 3, Layers: 1}
		c.AttentionDropout, c.EmbeddingDropout, c.FeedForward = 0.2, 0.1, 0.3
		if !c.MasksTokens() {
			c.NGrams = configtest.TokenNGrams()
		}
		train, val := manyMicroBatches(t, task)
		settings := ranksSettings()
		if settings.TokenDeletion = 0.1; !c.MasksTokens() {
			settings.TokenReplacement = 0.1
		}
		uninterrupted := t.TempDir()
		must.Succeed(t, trainNew(t, modeltest.RandomModel(c, 1), settings, options(uninterrupted, nil), cpu.New(2),
			train, val))
		want := outcomeOf(t, uninterrupted)
		for _, ranks := range [][2]int{{1, 1}, {2, 3}, {3, 1}} {
			r := &ranksRun{train: train, val: val, config: c, settings: settings, dir: t.TempDir(), stopAt: 3}
			must.Succeed(t, errors.Join(r.run(t, ranks[0])...), ranks[0], "ranks")
			r.stopAt = 0
			must.Succeed(t, errors.Join(r.run(t, ranks[1])...), ranks[1], "ranks")
			compareOutcomes(t, outcomeOf(t, r.dir), want)
		}
		m := must.Get(sft.Load(uninterrupted))(t)
		if m.Config.Chunks == nil || *m.Config.Chunks != *c.Chunks {
			t.Errorf("the saved model has the chunks %v, expected %v", m.Config.Chunks, c.Chunks)
		}
	}
}

// TestChunkNonFinite checks that the error of a diverged run names the first tensor that is not
// finite, in the local layers, the exports, the document encoder and the head for tokens.
func TestChunkNonFinite(t *testing.T) {
	for weight, want := range map[string]string{"layers.0.mlp.fc1.weight": "layers.0.mlp.fc1",
		"export.pool.weight": "export.pool", "layers.1.mlp.fc1.weight": "layers.1.mlp.fc1",
		"head.context.weight": "head.context"} {
		task := config.Classification
		if want == "head.context" {
			task = config.Tagging
		}
		train, val := tinySplits(t, task)
		c := configtest.WithTask(configtest.TrainingConfig(), task)
		c.NumLayers, c.Chunks = 2, &config.Chunks{Rule: "content", Average: 16, Exports: 3, Layers: 1}
		m := modeltest.RandomModel(c, 1)
		p, _ := m.Parameters.Lookup(weight)
		fill(m.Parameters.Slice(m.Weights, p), 3e38)
		err := trainNew(t, m, runSettings(), options(t.TempDir(), nil), cpu.New(2), train, val)
		var e *NonFiniteError
		if !errors.As(err, &e) || e.Tensor != want {
			t.Errorf("%s: error %v, want the tensor %q", weight, err, want)
		}
	}
}

// TestChunkNGramGradient compares the gradient of a chunked model that has n-grams to finite differences of
// its loss. The chunks export all tokens, because a change of the weights could change a sample.
func TestChunkNGramGradient(t *testing.T) {
	c := configtest.ChunkConfigs()["no attention"]
	c.NGrams, c.Chunks = configtest.TokenNGrams(), &config.Chunks{Rule: "fixed", Average: 16, Exports: 16, Layers: 1}
	compareDifferences(t, c)
}

// randomVector returns n normally distributed numbers.
func randomVector(random *rand.Rand, n int) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = random.NormFloat64()
	}
	return out
}

// referenceLoss returns the mean loss of examples.
func referenceLoss(r modeltest.Reference, examples []seq.Example) float64 {
	lossOf := map[config.Kind]func(modeltest.Reference, []seq.Example) (float64, int){
		config.Classes: modeltest.Reference.ClassificationLoss, config.Labels: modeltest.Reference.MultiLabelLoss,
		config.Numbers: modeltest.Reference.LossOfNumbers, config.Tags: modeltest.Reference.TaggingLoss,
		config.MaskedTokens: modeltest.Reference.FillMaskLoss}[r.Kind()]
	loss, _ := lossOf(r, examples)
	return loss
}
