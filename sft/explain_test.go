package sft

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
)

func explain(t *testing.T, s *Scorer, examples []seq.Example) []Output {
	t.Helper()
	return must.Get(s.Explain(context.Background(), examples))(t)
}

// referenceOutput is what the reference computes of an example.
type referenceOutput struct {
	logits []float64
	read   []referenceExplanation
}

// referenceOutputs are those of golden folders, which tests share: each takes seconds.
var referenceOutputs = map[string][]referenceOutput{}

func referenceOf(t *testing.T, folder string) []referenceOutput {
	t.Helper()
	if out, ok := referenceOutputs[folder]; ok {
		return out
	}
	m, examples := loadGolden(t, folder)
	r, out := newReference(m), make([]referenceOutput, len(examples))
	for i, e := range examples {
		out[i].logits, out[i].read = r.example(e)
	}
	referenceOutputs[folder] = out
	return out
}

// TestReference: what explanations are compared with is the model.
func TestReference(t *testing.T) {
	testenv.NoRace(t, "compares with slow loops in float64")
	for _, name := range evaluationFolders() {
		if name == "long" {
			continue // two minutes
		}
		reference := referenceOf(t, name)
		for i, l := range goldenLines(t, filepath.Join(golden, name, "expected.jsonl")) {
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

// TestExplain compares positions, weights, masses and the pooling with the model
// in float64, on every device.
func TestExplain(t *testing.T) {
	testenv.NoRace(t, "compares with slow loops in float64")
	folders := slices.DeleteFunc(evaluationFolders(), func(name string) bool { return name == "long" })
	onEveryDevice(t, folders, func(t *testing.T, name string, device tensor.Device) {
		m, examples := loadGolden(t, name)
		reference, worst := referenceOf(t, name), 0.0
		for i, o := range explain(t, newScorerOf(t, m, device), examples) {
			want := reference[i].read
			if len(o.Explanations) != len(want) {
				t.Fatalf("example %d: %d explanations, expected %d", i, len(o.Explanations), len(want))
			}
			for at, e := range o.Explanations {
				worst = max(worst, compareExplanation(t, e, want[at]))
				checkSums(t, m.Config, e)
			}
		}
		t.Logf("largest error %.1e", worst)
		if !(worst <= 1e-5) {
			t.Errorf("off by %.1e, at most 1e-5 allowed", worst)
		}
	})
}

// compareExplanation returns the largest error.
func compareExplanation(t *testing.T, got Explanation, want referenceExplanation) (worst float64) {
	t.Helper()
	off := func(x float32, y float64) { worst = max(worst, math.Abs(float64(x)-y)) }
	if len(got.Layers) != len(want.layers) || len(got.Pooling) != len(want.pooling) {
		t.Fatalf("%d layers, %d tokens, expected %d, %d", len(got.Layers), len(got.Pooling),
			len(want.layers), len(want.pooling))
	}
	for i, a := range want.pooling {
		off(got.Pooling[i], a)
	}
	for l, layer := range got.Layers {
		if len(layer.Positions) != len(want.layers[l]) || len(layer.Weights) != len(layer.Positions) ||
			len(layer.Mass) != len(layer.Positions) {
			t.Fatalf("layer %d: %v, expected %v", l, layer, want.layers[l])
		}
		for i, position := range layer.Positions {
			x, ok := want.layers[l][position]
			if !ok || i > 0 && layer.Positions[i-1] >= position {
				t.Fatalf("layer %d: positions %v, expected those of %v in order", l, layer.Positions, want.layers[l])
			}
			off(layer.Weights[i], x[0])
			off(layer.Mass[i], x[1])
		}
	}
	return worst
}

// checkSums checks what adds up to one, and what to no more.
func checkSums(t *testing.T, c *Config, e Explanation) {
	t.Helper()
	sum := func(x []float32) (sum float64) {
		for _, v := range x {
			if !(v >= 0) {
				t.Errorf("%v among what is shared out", v)
			}
			sum += float64(v)
		}
		return sum
	}
	if a := sum(e.Pooling); math.Abs(a-1) > 1e-5 {
		t.Errorf("the pooling adds up to %v", a)
	}
	for l, layer := range e.Layers {
		k := min(c.NumSampledTokens, len(e.Pooling))
		if n := min(2*k, len(e.Pooling)); len(layer.Positions) != n {
			t.Errorf("layer %d: %d tokens were sampled, expected %d", l, len(layer.Positions), n)
		}
		if w := sum(layer.Weights); math.Abs(w-float64(k)) > 1e-5*float64(k) {
			t.Errorf("layer %d: the weights of %d duplets add up to %v", l, k, w)
		}
		if mass := sum(layer.Mass); mass > 1+1e-5 || c.Probability == "softmax" && mass < 1-1e-5 {
			t.Errorf("layer %d: %s: the masses add up to %v", l, c.Probability, mass)
		}
	}
}

// TestExplainChangesNoBit: an explained example has the output of one that is not,
// and its explanation is the same alone, in any batch, after other passes and
// with any number of threads.
func TestExplainChangesNoBit(t *testing.T) { onEveryKind(t, testExplainChangesNoBit) }

func testExplainChangesNoBit(t *testing.T, devices ...tensor.Device) {
	for i, c := range randomConfigs() {
		if i%5 != 0 && len(devices) == 1 {
			continue // compiled anew for each configuration
		}
		random := rand.New(rand.NewPCG(uint64(i), 1))
		m := randomModel(c, uint64(i))
		lengths := []int{1, 2, 31, 33, 64, 130, 7}
		if i == 0 {
			lengths = append(lengths, microBatchTokens, 3000, 3000) // several passes at once
		}
		examples := randomExamples(c, random, lengths...)
		single := newScorerOf(t, m, devices[0])
		var alone []Output
		for e := range examples {
			alone = append(alone, explain(t, single, examples[e:e+1])...)
		}
		for _, device := range devices {
			s := newScorerOf(t, m, device)
			plain := score(t, s, examples)
			for e, o := range explain(t, s, examples) {
				want := alone[e]
				if !slices.Equal(o.Logits, plain[e].Logits) ||
					!slices.EqualFunc(o.Embeddings, plain[e].Embeddings, slices.Equal) || plain[e].Explanations != nil {
					t.Errorf("configuration %d, %s, example %d: %v explained, %v otherwise", i, device.Name(), e,
						o.Logits, plain[e].Logits)
				}
				if !slices.EqualFunc(o.Explanations, want.Explanations, sameExplanation) {
					t.Errorf("configuration %d, %s, example %d: %v in a batch, %v alone", i, device.Name(), e,
						o.Explanations, want.Explanations)
				}
				for _, x := range o.Explanations {
					checkSums(t, c, x)
				}
			}
		}
	}
}

func sameExplanation(a, b Explanation) bool {
	return slices.Equal(a.Pooling, b.Pooling) && slices.EqualFunc(a.Layers, b.Layers, func(a, b LayerExplanation) bool {
		return slices.Equal(a.Positions, b.Positions) && slices.Equal(a.Weights, b.Weights) &&
			slices.Equal(a.Mass, b.Mass)
	})
}

// TestExplainMemory: it grows with the tokens, and not with the tokens times those
// sampled.
func TestExplainMemory(t *testing.T) {
	c := tinyConfig()
	c.NumSampledTokens = 1024
	words := func(tokens int) int {
		p := must.Get(newPass(c, NewParameters(c), shapeFor(c, tokens, 1, c.NumSampledTokens, 0), explainMode))(t)
		return p.Program.Words(tensor.Arena) + p.Program.Words(tensor.Inputs)
	}
	const n = 1 << 16
	one, two := words(n), words(2*n)
	if two > 2*one || one > n*c.NumSampledTokens/4 {
		t.Errorf("%d words for %d tokens, %d for twice as many", one, n, two)
	}
}

func TestExplainRefuses(t *testing.T) {
	onEveryDevice(t, []string{"pre"}, func(t *testing.T, name string, device tensor.Device) {
		m, examples := loadGolden(t, name)
		s := newScorerOf(t, m, device)
		if _, err := s.Explain(context.Background(), []seq.Example{{A: []int32{99}}}); err == nil {
			t.Error("a token out of range was explained")
		}
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		must.Fail(t, "", "explained though cancelled")(s.Explain(ctx, examples))
	})
}

// TestExplainTags: a model of tagging is explained by what its layers have sampled, which is that
// of a model of classes with the same layers; its logits are those without an explanation.
func TestExplainTags(t *testing.T) {
	m := randomModel(ofTask(tinyConfig(), Tagging), 1)
	classes := NewModel(tinyConfig(), 2)
	must.Get(classes.CopyFrom(m))(t)
	examples := []seq.Example{{A: []int32{1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3, 4, 5}},
		{A: []int32{3}}, {A: []int32{8, 7, 6}}}
	tagger := newScorerOf(t, m, cpu.New(1))
	got, want := explain(t, tagger, examples), explain(t, newScorerOf(t, classes, cpu.New(1)), examples)
	plain := must.Get(tagger.Examples(t.Context(), examples))(t)
	for i, o := range got {
		if !slices.Equal(o.Logits, plain[i].Logits) || len(o.Explanations) != 1 || o.Explanations[0].Pooling != nil {
			t.Errorf("example %d: %+v", i, o)
		}
		if e := o.Explanations[0].Layers; !reflect.DeepEqual(e, want[i].Explanations[0].Layers) || len(e) != 2 ||
			len(e[0].Positions) == 0 {
			t.Errorf("example %d: %+v, want %+v", i, e, want[i].Explanations[0].Layers)
		}
	}
}
