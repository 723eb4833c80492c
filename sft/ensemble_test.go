package sft_test

import (
	"context"
	"encoding/json"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/sftseq/sftseq/internal/cpu"
	"github.com/sftseq/sftseq/internal/distributed"
	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/sft/config"
	"github.com/sftseq/sftseq/sft/internal/modeltest"
)

// ensembleFolders lists golden folders of models that may form ensembles: one for each task with
// predictions for rows or tokens, and for point clouds and graphs.
var ensembleFolders = []string{"pre", "retrieval", "regression", "multilabel", "tagging", "clouds", "graphs"}

// siblings returns the model of a golden folder, followed by two copies with noise added to their
// weights, and the examples of the folder. The last model has another sample size.
func siblings(t *testing.T, folder string) ([]*sft.Model, []seq.Example) {
	t.Helper()
	m, examples := modeltest.LoadGolden(t, folder)
	models := []*sft.Model{m}
	random := rand.New(rand.NewPCG(7, 8))
	for range 2 {
		c := *m.Config
		o := &sft.Model{Config: &c, Parameters: m.Parameters, Weights: slices.Clone(m.Weights)}
		for i := range o.Weights {
			o.Weights[i] += float32(0.1 * random.NormFloat64())
		}
		models = append(models, o)
	}
	models[2].Config.NumSampledTokens = 3
	return models, examples
}

func ensembleOf(t *testing.T, models ...*sft.Model) *sft.Scorer {
	t.Helper()
	s := must.Get(sft.NewEnsemble(models, cpu.New(2)))(t)
	t.Cleanup(s.Close)
	return s
}

// meanPrediction computes the mean of the probabilities or numbers of several models.
func meanPrediction(c *config.Config, outputs []sft.Output) (probabilities []float64, numbers []float64) {
	predictions := func(logits []float32) []float64 {
		out := make([]float64, len(logits))
		switch c.Kind() {
		case config.Numbers:
			for i, l := range logits {
				out[i] = float64(l)
			}
		case config.Labels:
			for i, l := range logits {
				out[i] = 1 / (1 + math.Exp(-float64(l)))
			}
		default:
			for at := 0; at < len(logits); at += c.NumLabels {
				var sum float64
				for i := at; i < at+c.NumLabels; i++ {
					out[i] = math.Exp(float64(logits[i]))
					sum += out[i]
				}
				for i := at; i < at+c.NumLabels; i++ {
					out[i] /= sum
				}
			}
		}
		return out
	}
	for _, o := range outputs {
		for i, p := range predictions(o.Logits) {
			if len(probabilities) == i {
				probabilities = append(probabilities, 0)
			}
			probabilities[i] += p / float64(len(outputs))
		}
		for i, n := range o.Numbers {
			if len(numbers) == i {
				numbers = append(numbers, 0)
			}
			numbers[i] += float64(n) / float64(len(outputs))
		}
	}
	return probabilities, numbers
}

// TestEnsemble checks that an ensemble predicts the mean of its models' probabilities or numbers,
// with the same number of logits as one model. An example alone must have the same outputs as in a
// batch, and several ranks the same outputs as a single process.
func TestEnsemble(t *testing.T) {
	for _, folder := range ensembleFolders {
		models, examples := siblings(t, folder)
		c := models[0].Config
		s := ensembleOf(t, models...)
		got := must.Get(s.Examples(t.Context(), examples))(t)
		outputs := make([][]sft.Output, len(models))
		for i, m := range models {
			outputs[i] = must.Get(ensembleOf(t, m).Examples(t.Context(), examples))(t)
		}
		for i, o := range got {
			probabilities, numbers := meanPrediction(c, []sft.Output{outputs[0][i], outputs[1][i], outputs[2][i]})
			if reflect.DeepEqual(outputs[0][i].Logits, outputs[1][i].Logits) ||
				reflect.DeepEqual(outputs[0][i].Logits, outputs[2][i].Logits) {
				t.Fatalf("%s, example %d: got logits %v, %v and %v of the three models, want the first to differ from "+
					"the others", folder, i, outputs[0][i].Logits, outputs[1][i].Logits, outputs[2][i].Logits)
			}
			predicted, _ := meanPrediction(c, []sft.Output{o})
			if len(o.Logits) != len(outputs[0][i].Logits) || len(o.Numbers) != len(numbers) || o.Embeddings != nil {
				t.Fatalf("%s, example %d: %d logits, want %d; %d numbers, want %d; %d embeddings, want 0", folder, i,
					len(o.Logits), len(outputs[0][i].Logits), len(o.Numbers), len(numbers), len(o.Embeddings))
			}
			for j, p := range probabilities {
				if !(math.Abs(predicted[j]-p) <= 1e-6*(1+math.Abs(p))) {
					t.Errorf("%s, example %d: prediction %d is %v, expected %v", folder, i, j, predicted[j], p)
				}
			}
			for j, n := range numbers {
				if !(math.Abs(float64(o.Numbers[j])-n) <= 1e-5*(1+math.Abs(n))) {
					t.Errorf("%s, example %d: number %d is %v, expected %v", folder, i, j, o.Numbers[j], n)
				}
			}
		}
		if alone, err := s.Examples(t.Context(), examples[1:2]); err != nil || !reflect.DeepEqual(alone[0], got[1]) {
			t.Errorf("%s: an example alone has different outputs, error %v", folder, err)
		}
		ranked := make([][]sft.Output, 2)
		var group sync.WaitGroup
		for rank, world := range distributed.NewLocal(len(ranked)) {
			group.Go(func() {
				must.Check(t, s.CompareRanks(world, nil, nil))
				var err error
				if ranked[rank], err = s.SharedExamples(t.Context(), world, examples); err != nil {
					t.Error(err)
				}
			})
		}
		group.Wait()
		for i := range got {
			for rank := range ranked {
				if !slices.Equal(ranked[rank][i].Logits, got[i].Logits) ||
					!slices.Equal(ranked[rank][i].Numbers, got[i].Numbers) {
					t.Errorf("%s, example %d: the outputs of rank %d differ", folder, i, rank)
				}
			}
		}
	}
}

// TestRanksRefuseLinear checks that several ranks refuse a linear model, both alone and in a fusion.
func TestRanksRefuseLinear(t *testing.T) {
	models, fusion := fusionOf(t, 100)
	for name, s := range map[string]*sft.Scorer{"linear": modeltest.NewTestScorer(t, models[1]),
		"fusion": must.Get(sft.NewFusion(models, fusion, cpu.New(1)))(t)} {
		var group sync.WaitGroup
		for _, world := range distributed.NewLocal(2) {
			group.Go(func() {
				if err := s.CompareRanks(world, nil, nil); err == nil || !strings.Contains(err.Error(), "single process") {
					t.Errorf("%s: error %v, want one with \"single process\"", name, err)
				}
			})
		}
		group.Wait()
	}
}

// TestEnsembleOfOne checks that an ensemble of one model has the same outputs as the model.
func TestEnsembleOfOne(t *testing.T) {
	m, examples := modeltest.LoadGolden(t, "pre")
	alone := must.Get(sft.NewScorer(m, cpu.New(2)))(t)
	defer alone.Close()
	want := must.Get(alone.Examples(t.Context(), examples))(t)
	if got, err := ensembleOf(t, m).Examples(t.Context(), examples); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("the outputs differ from the model's, error %v", err)
	}
}

// TestEnsembleRefuses checks the errors for calls that need a single model, and for models that
// cannot predict together.
func TestEnsembleRefuses(t *testing.T) {
	models, examples := siblings(t, "pre")
	s := ensembleOf(t, models...)
	ctx := context.Background()
	for name, f := range map[string]func() error{
		"Explain":       func() error { _, err := s.Explain(ctx, examples); return err },
		"HiddenStates":  func() error { _, err := s.HiddenStates(ctx, examples); return err },
		"EmbedExamples": func() error { _, err := s.EmbedExamples(ctx, examples); return err },
		"Embeddings":    func() error { _, err := s.Embeddings(ctx, [][]int32{{1}}); return err },
		"Compare":       func() error { _, err := s.Compare(ctx, nil, nil); return err },
		"Fill":          func() error { _, err := s.Fill(ctx, [][]int32{{1}}); return err },
		"MaskedLosses":  func() error { _, err := s.MaskedLosses(ctx, nil, examples); return err },
	} {
		must.FailWith(t, sft.ErrEnsemble, name)(f())
	}
	must.Check(t, s.Probe(ctx))
	must.Fail(t, "", "an ensemble without models")(sft.NewEnsemble(nil, cpu.New(1)))
	for want, change := range map[string]func(*config.Config){
		"model 2 of the ensemble: task: expected classification as in the first model, found regression": func(c *config.Config) { c.Task = config.Regression },
		"number of labels: expected 10 as in the first model, found 3":                                   func(c *config.Config) { c.NumLabels = 3 },
		"its label or number names": func(c *config.Config) {
			c.LabelNames = slices.Repeat([]string{"x"},
				c.NumLabels)
		},
		"differ in mean or deviation":                            func(c *config.Config) { c.Numbers = []config.Number{{Deviation: 3}} },
		"vocab_size: expected 17 as in the first model, found 5": func(c *config.Config) { c.VocabSize = 5 },
		"its tokenizer": func(c *config.Config) { c.Tokenizer = json.RawMessage(`{"type":"bytes"}`) },
		"feature_names: expected [] as in the first model, found [x]":            func(c *config.Config) { c.FeatureNames = []string{"x"} },
		"edges between tokens: expected false as in the first model, found true": func(c *config.Config) { c.EdgeFeatureNames = []string{} },
		"as in the first model, found {5 head}": func(c *config.Config) {
			c.InputWindow = &config.InputWindow{Length: 5,
				Policy: "head"}
		},
	} {
		first := *models[0].Config
		first.LabelNames = slices.Repeat([]string{"y"}, first.NumLabels)
		first.Numbers = []config.Number{{Deviation: 2}}
		c := first
		// The tokenizers differ only in white space.
		c.Tokenizer = json.RawMessage(strings.ReplaceAll(string(c.Tokenizer), ":", " :\n"))
		must.Succeed(t, first.SameInputsAndOutputs(&c))
		change(&c)
		newModel := func(c *config.Config) *sft.Model {
			return &sft.Model{Config: c, Parameters: models[0].Parameters, Weights: models[0].Weights}
		}
		if _, err := sft.NewEnsemble([]*sft.Model{newModel(&first), newModel(&c)}, cpu.New(1)); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("error %v, expected %q", err, want)
		}
	}
	masked := must.Get(sft.Load(modeltest.GoldenDir + "/fill_mask"))(t)
	must.Fail(t, "predicts masked tokens, not whole")(sft.NewEnsemble([]*sft.Model{masked, masked}, cpu.New(1)))
}

// TestEnsembleMaxLength checks that an ensemble refuses sequences that one of its models does not accept.
func TestEnsembleMaxLength(t *testing.T) {
	models, examples := siblings(t, "pre")
	models[1].Config.MaxLength = 7
	s := ensembleOf(t, models...)
	if s.Config().MaxLength != 7 {
		t.Errorf("sequences of up to %d tokens, expected 7", s.Config().MaxLength)
	}
	short, long := examples[0], examples[0]
	short.A = slices.Repeat(examples[0].A[:1], 7)
	long.A = slices.Repeat(examples[0].A[:1], 8)
	must.Get(s.Examples(t.Context(), []seq.Example{short}))(t)
	must.Fail(t, "8 tokens, but the model accepts at most 7")(s.Examples(t.Context(), []seq.Example{long}))
}

// TestProbe checks that Probe succeeds for the models of every task.
func TestProbe(t *testing.T) {
	for _, folder := range append([]string{"fill_mask", "vanilla"}, ensembleFolders...) {
		m := must.Get(sft.Load(modeltest.GoldenDir + "/" + folder))(t)
		must.Check(t, ensembleOf(t, m).Probe(t.Context()), folder)
	}
}

// TestMeanThresholds checks that thresholds are averaged, with 0.5 for a model without thresholds,
// and that the mean of equal thresholds has no rounding error.
func TestMeanThresholds(t *testing.T) {
	withThresholds := func(thresholds ...float64) *sft.Model {
		return &sft.Model{Config: &config.Config{
			Head:     config.Head{NumLabels: 2},
			Decision: config.Decision{Thresholds: thresholds},
		}}
	}
	for _, c := range []struct {
		models []*sft.Model
		want   []float64
	}{
		{[]*sft.Model{withThresholds(), withThresholds()}, nil},
		{[]*sft.Model{withThresholds(0.25, 1), withThresholds(0.75, 0)}, []float64{0.5, 0.5}},
		{[]*sft.Model{withThresholds(), withThresholds(0.25, 1)}, []float64{0.375, 0.75}},
		{[]*sft.Model{withThresholds(0.1, 0.7), withThresholds(0.1, 0.7), withThresholds(0.1, 0.7)}, []float64{0.1,
			0.7}},
	} {
		if got := sft.MeanThresholds(c.models); !slices.Equal(got, c.want) {
			t.Errorf("thresholds %v, expected %v", got, c.want)
		}
	}
	models, _ := siblings(t, "multilabel")
	models[0].Config.Thresholds, models[1].Config.Thresholds = []float64{0.25, 1, 0.5}, []float64{0.75, 0, 0.5}
	if got := ensembleOf(t, models[:2]...).Config().Thresholds; !slices.Equal(got, []float64{0.5, 0.5, 0.5}) {
		t.Errorf("thresholds %v, expected 0.5 for each label", got)
	}
	if models[0].Config.Thresholds[0] != 0.25 {
		t.Error("NewEnsemble changed the thresholds of its argument")
	}
}

// TestRanksOfEnsembles checks that ranks with different models are refused.
func TestRanksOfEnsembles(t *testing.T) {
	models, _ := siblings(t, "pre")
	two, three := ensembleOf(t, models[:2]...), ensembleOf(t, models...)
	other := ensembleOf(t, models[0], models[2])
	for _, pair := range [][2]*sft.Scorer{{two, three}, {three, two}, {two, other}} {
		want := "rank 1 differs from rank 0 in "
		if pair[1] != other {
			want += "its number of models"
		}
		var group sync.WaitGroup
		for rank, world := range distributed.NewLocal(2) {
			group.Go(func() {
				if err := pair[rank].CompareRanks(world, nil, nil); err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("error %v, expected %q", err, want)
				}
			})
		}
		group.Wait()
	}
}
