package sft_test

import (
	"context"
	"math"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"slices"
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

// referenceOutput holds the reference's results for an example.
type referenceOutput struct {
	logits       []float64
	explanations []modeltest.ReferenceExplanation
}

// referenceOutputs caches the results of golden folders between tests, because each takes seconds.
var referenceOutputs = map[string][]referenceOutput{}

func referenceOf(t *testing.T, folder string) []referenceOutput {
	t.Helper()
	if out, ok := referenceOutputs[folder]; ok {
		return out
	}
	m, examples := modeltest.LoadGolden(t, folder)
	r, out := modeltest.NewReference(m), make([]referenceOutput, len(examples))
	for i, e := range examples {
		out[i].logits, out[i].explanations = r.Example(e)
	}
	referenceOutputs[folder] = out
	return out
}

// TestReference compares the logits of the reference with those in the golden folders.
func TestReference(t *testing.T) {
	testenv.NoRace(t, "compares with slow loops in float64")
	for _, name := range modeltest.EvaluationFolders() {
		if name == "long" {
			continue // two minutes
		}
		reference := referenceOf(t, name)
		for i, l := range modeltest.GoldenLines(t, filepath.Join(modeltest.GoldenDir, name, "expected.jsonl")) {
			got := reference[i].logits
			for c, want := range l.Logits {
				if !(math.Abs(got[c]-want) <= 1e-6) {
					t.Errorf("%s: example %d: logits %v, expected %v", name, i, got, l.Logits)
					break
				}
			}
		}
	}
}

// TestExplain compares positions, weights, masses and pooling with the float64 reference on every
// device.
func TestExplain(t *testing.T) {
	testenv.NoRace(t, "compares with slow loops in float64")
	folders := slices.DeleteFunc(modeltest.EvaluationFolders(), func(name string) bool { return name == "long" })
	configtest.OnEveryDevice(t, folders, func(t *testing.T, name string, device tensor.Device) {
		m, examples := modeltest.LoadGolden(t, name)
		reference, worst := referenceOf(t, name), 0.0
		for i, o := range modeltest.Explain(t, modeltest.NewScorerOf(t, m, device), examples) {
			want := reference[i].explanations
			if len(o.Explanations) != len(want) {
				t.Fatalf("example %d: %d explanations, expected %d", i, len(o.Explanations), len(want))
			}
			for at, e := range o.Explanations {
				worst = max(worst, modeltest.CompareExplanation(t, e, want[at]))
				modeltest.CheckSums(t, m.Config, e)
			}
		}
		t.Logf("largest error %.1e", worst)
		if !(worst <= 1e-5) {
			t.Errorf("explanations off by %.1e, want at most 1e-5", worst)
		}
	})
}

// TestExplainChangesNoBit checks that an example has the same logits and embeddings with and without
// explanation. The explanation must be the same alone and in a batch, after other passes and with
// any number of threads.
func TestExplainChangesNoBit(t *testing.T) { configtest.OnEveryKind(t, testExplainChangesNoBit) }

func testExplainChangesNoBit(t *testing.T, devices ...tensor.Device) {
	for i, c := range configtest.RandomConfigs() {
		if i%5 != 0 && len(devices) == 1 {
			continue // every configuration compiles its own programs
		}
		random := rand.New(rand.NewPCG(uint64(i), 1))
		m := modeltest.RandomModel(c, uint64(i))
		lengths := []int{1, 2, 31, 33, 64, 130, 7}
		if i == 0 {
			lengths = append(lengths, model.MicroBatchTokens, 3000, 3000) // requires several concurrent passes
		}
		examples := configtest.RandomExamples(c, random, lengths...)
		single := modeltest.NewScorerOf(t, m, devices[0])
		var alone []sft.Output
		for e := range examples {
			alone = append(alone, modeltest.Explain(t, single, examples[e:e+1])...)
		}
		for _, device := range devices {
			s := modeltest.NewScorerOf(t, m, device)
			plain := modeltest.Score(t, s, examples)
			for e, o := range modeltest.Explain(t, s, examples) {
				want := alone[e]
				if !slices.Equal(o.Logits, plain[e].Logits) ||
					!slices.EqualFunc(o.Embeddings, plain[e].Embeddings, slices.Equal) || plain[e].Explanations != nil {
					t.Errorf("configuration %d, %s, example %d: logits %v with explanation, %v without", i,
						device.Name(), e,
						o.Logits, plain[e].Logits)
				}
				if !slices.EqualFunc(o.Explanations, want.Explanations, sameExplanation) {
					t.Errorf("configuration %d, %s, example %d: explanations %v in a batch, want %v as alone", i,
						device.Name(), e, o.Explanations, want.Explanations)
				}
				for _, x := range o.Explanations {
					modeltest.CheckSums(t, c, x)
				}
			}
		}
	}
}

func sameExplanation(a, b sft.Explanation) bool {
	return slices.Equal(a.Pooling, b.Pooling) &&
		slices.EqualFunc(a.Layers, b.Layers, func(a, b sft.LayerExplanation) bool {
			return slices.Equal(a.Positions, b.Positions) && slices.Equal(a.Weights, b.Weights) &&
				slices.Equal(a.Mass, b.Mass)
		})
}

func TestExplainRefuses(t *testing.T) {
	configtest.OnEveryDevice(t, []string{"pre"}, func(t *testing.T, name string, device tensor.Device) {
		m, examples := modeltest.LoadGolden(t, name)
		s := modeltest.NewScorerOf(t, m, device)
		if _, err := s.Explain(context.Background(), []seq.Example{{A: []int32{99}}}); err == nil {
			t.Error("Explain for token 99, out of range: error <nil>, want an error")
		}
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		must.Fail(t, "", "a cancelled context")(s.Explain(ctx, examples))
	})
}

// TestExplainTags checks that a tagging model explains its layers like a classifier with the same
// layers, and has the same logits with and without explanation.
func TestExplainTags(t *testing.T) {
	m := modeltest.RandomModel(configtest.WithTask(configtest.TinyConfig(), config.Tagging), 1)
	classes := sft.NewModel(configtest.TinyConfig(), 2)
	must.Get(classes.CopyFrom(m))(t)
	examples := []seq.Example{{A: []int32{1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3, 4, 5}},
		{A: []int32{3}}, {A: []int32{8, 7, 6}}}
	tagger := modeltest.NewScorerOf(t, m, cpu.New(1))
	got, want := modeltest.Explain(t, tagger, examples),
		modeltest.Explain(t, modeltest.NewScorerOf(t, classes, cpu.New(1)), examples)
	plain := must.Get(tagger.Examples(t.Context(), examples))(t)
	for i, o := range got {
		if !slices.Equal(o.Logits, plain[i].Logits) || len(o.Explanations) != 1 || o.Explanations[0].Pooling != nil {
			t.Errorf("example %d: got %+v, want the plain logits and one explanation without pooling", i, o)
		}
		if e := o.Explanations[0].Layers; !reflect.DeepEqual(e, want[i].Explanations[0].Layers) || len(e) != 2 ||
			len(e[0].Positions) == 0 {
			t.Errorf("example %d: %+v, want %+v", i, e, want[i].Explanations[0].Layers)
		}
	}
}
