package train

import (
	"context"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/cpu"
	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/sft/config"
	"github.com/sftseq/sftseq/sft/internal/configtest"
	"github.com/sftseq/sftseq/sft/internal/modeltest"
)

// TestFusion checks that a fusion's logits are the weighted sum of its models' logits divided by
// the temperature. Each model reads its own input window.
func TestFusion(t *testing.T) {
	_, val := tinySplits(t, config.Classification)
	one, two := modeltest.RandomModel(configtest.TinyConfig(), 1), modeltest.RandomModel(configtest.TinyConfig(), 2)
	two.Config.InputWindow = &config.InputWindow{Length: 2, Policy: "head"}
	f := must.Get(FitFusion(t.Context(), []Member{{"one", "first", one}, {"two", "second", two}}, val, cpu.New(2),
		nil))(t)
	if len(f.Losses) != 2 {
		t.Errorf("fusion %+v, want two losses", f)
	}
	f.Weights, f.Temperature = []float64{0.75, 0.5}, 2
	s := must.Get(sft.NewFusion([]*sft.Model{one, two}, f, cpu.New(1)))(t)
	defer s.Close()
	alone := func(m *sft.Model, tokens []int32) []float32 {
		return must.Get(modeltest.NewScorerOf(t, m, cpu.New(1)).Classify(t.Context(), tokens))(t).Logits
	}
	tokens := []int32{1, 2, 3, 4}
	got := must.Get(s.Examples(t.Context(), []seq.Example{{A: tokens, Label: seq.NoLabel}}))(t)[0].Logits
	a, b := alone(one, tokens), alone(two, tokens[:2])
	for c, z := range got {
		if want := (0.75*float64(a[c]) + 0.5*float64(b[c])) / 2; math.Abs(float64(z)-want) > 1e-6 {
			t.Errorf("class %d: %v, want %v", c, z, want)
		}
	}
	one.Config.InputWindow, two.Config.InputWindowTail = &config.InputWindow{Length: 3, Policy: "head"}, 1
	must.Fail(t, "reads the window 2:tail=1 of a row, expected a part of the first model's window 3")(
		sft.NewFusion([]*sft.Model{one, two}, f, cpu.New(1)))
	two.Config.InputWindow, two.Config.InputWindowTail = &config.InputWindow{Length: 4, Policy: "head"}, 0
	must.Fail(t, "reads the window 4 of a row, expected a part of the first model's window 3")(
		sft.NewFusion([]*sft.Model{one, two}, f, cpu.New(1)))
	other := modeltest.RandomModel(configtest.WithTask(configtest.TinyConfig(), config.Tagging), 1)
	must.Fail(t, "expected one prediction for each row")(sft.NewFusion([]*sft.Model{other, other}, f, cpu.New(1)))
}

// TestFusionOfOne checks that a fusion of one regression model multiplies the model's logits by the weight,
// and that Examples, Explain and HiddenStates return the same numbers.
func TestFusionOfOne(t *testing.T) {
	m := modeltest.RandomModel(configtest.WithTask(configtest.TinyConfig(), config.Regression), 1)
	m.Config.InputWindow = &config.InputWindow{Length: 2, Policy: "head"}
	s := must.Get(sft.NewFusion([]*sft.Model{m}, &sft.Fusion{Weights: []float64{0.5}, Temperature: 1}, cpu.New(1)))(t)
	defer s.Close()
	rows := []seq.Example{{A: []int32{1, 2, 3, 4}, Label: seq.NoLabel}}
	want := must.Get(modeltest.NewScorerOf(t, m, cpu.New(1)).Classify(t.Context(), rows[0].A[:2]))(t).Logits
	for name, call := range map[string]func(context.Context, []seq.Example) ([]sft.Output, error){
		"Examples": s.Examples, "Explain": s.Explain, "HiddenStates": s.HiddenStates,
	} {
		got := must.Get(call(t.Context(), rows))(t)[0]
		if len(got.Logits) != 2 || got.Logits[0] != want[0]/2 || got.Logits[1] != want[1]/2 {
			t.Errorf("%s: got the logits %v, want half of %v", name, got.Logits, want)
		}
		if numbers := must.Get(s.Examples(t.Context(), rows))(t)[0].Numbers; !slices.Equal(got.Numbers, numbers) {
			t.Errorf("%s: got the numbers %v, want %v", name, got.Numbers, numbers)
		}
		if name == "Explain" && (len(got.Explanations) != 1 || len(got.Explanations[0].Pooling) != 4) {
			t.Errorf("got the explanations %+v, want one with the weights of 4 tokens", got.Explanations)
		}
	}
}

// TestFitFusionKinds checks that members of one kind get equal weights, and members of different
// kinds different weights. With few rows, the weights must be the rounded prior.
func TestFitFusionKinds(t *testing.T) {
	rows, _ := writeSplits(t, config.Classification, 150, func(*rand.Rand, string, int) int { return 3 })
	one, two := modeltest.RandomModel(configtest.TinyConfig(), 1), modeltest.RandomModel(configtest.TinyConfig(), 2)
	weights := func(a, b string) []float64 {
		t.Helper()
		return must.Get(FitFusion(t.Context(), []Member{{"one", a, one}, {"two", b, two}}, rows, cpu.New(1), nil))(t).Weights
	}
	if w := weights("lexical", "lexical"); w[0] != w[1] || w[0] == 0 {
		t.Errorf("got weights %v of members of one kind, want equal weights above 0", w)
	}
	if w := weights("lexical", "sft"); w[0] == w[1] {
		t.Errorf("got weights %v of members of two kinds, want different weights", w)
	}
	few, _ := writeSplits(t, config.Classification, 50, func(*rand.Rand, string, int) int { return 3 })
	seeds := []Member{{"one", "sft", one}, {"two", "sft", two}, {"three", "sft", one}}
	f := must.Get(FitFusion(t.Context(), seeds, few, cpu.New(1), nil))(t)
	if want := []float64{0.1, 0.1, 0.1}; !slices.Equal(f.Weights, want) {
		t.Errorf("got weights %v of three seeds on few rows, want the rounded prior %v", f.Weights, want)
	}
}

// TestFusionExplains checks that a fusion of a linear model and a model that reads both ends of a
// row explains both models in positions of the whole row. The fusion's logits equal the logits of Examples.
func TestFusionExplains(t *testing.T) {
	dir, _ := modeltest.LinearDir(t, 1)
	linear := must.Get(sft.Load(dir))(t)
	c := configtest.TinyConfig()
	c.VocabSize, c.PadTokenID, c.Tokenizer = linear.Config.VocabSize, linear.Config.PadTokenID, linear.Config.Tokenizer
	c.LabelNames, c.NumLabels = linear.Config.LabelNames, linear.Config.NumLabels
	c.InputWindow, c.InputWindowTail = &config.InputWindow{Length: 3, Policy: "head"}, 1
	layers := modeltest.RandomModel(c, 1)
	f := &sft.Fusion{Weights: []float64{0.5, 1}, Temperature: 2}
	s := must.Get(sft.NewFusion([]*sft.Model{linear, layers}, f, cpu.New(1)))(t)
	defer s.Close()
	rows := modeltest.NewInMemory(5, 12, 3)
	got, want := must.Get(s.Explain(t.Context(), rows))(t), must.Get(s.Examples(t.Context(), rows))(t)
	first := must.Get(sft.NewScorer(linear, nil))(t)
	second := modeltest.NewScorerOf(t, layers, cpu.New(1))
	for i, o := range got {
		if !slices.Equal(o.Logits, want[i].Logits) || len(o.Explanations) != 1 {
			t.Fatalf("row %d: %+v, expected the logits %v", i, o, want[i].Logits)
		}
		ends, n := rows[i], len(rows[i].A)
		if n > 3 {
			ends.A = []int32{ends.A[0], ends.A[1], ends.A[n-1]}
		}
		windowed := must.Get(second.Explain(t.Context(), []seq.Example{ends}))(t)[0].Explanations[0]
		if n > 3 {
			for _, l := range windowed.Layers {
				for j, p := range l.Positions {
					l.Positions[j] = []int32{0, 1, int32(n - 1)}[p]
				}
			}
			windowed.Pooling = slices.Concat(windowed.Pooling[:2], make([]float32, n-3), windowed.Pooling[2:])
		}
		e := o.Explanations[0]
		if !reflect.DeepEqual(e.Layers, windowed.Layers) || !slices.Equal(e.Pooling, windowed.Pooling) {
			t.Errorf("row %d: %+v, expected %+v", i, e, windowed)
		}
		alone := must.Get(first.Explain(t.Context(), rows[i:i+1]))(t)[0]
		if e.Linear.Output != sft.Argmax(o.Logits) {
			t.Errorf("row %d: class %d is explained, expected %d", i, e.Linear.Output, sft.Argmax(o.Logits))
		}
		if e.Linear.Output != alone.Explanations[0].Linear.Output {
			continue
		}
		for n, g := range alone.Explanations[0].Linear.NGrams {
			if math.Abs(float64(e.Linear.NGrams[n].Contribution-g.Contribution/4)) > 1e-6 {
				t.Errorf("row %d: contribution %v, expected a quarter of %v", i,
					e.Linear.NGrams[n].Contribution, g.Contribution)
			}
		}
	}
	ensemble := must.Get(sft.NewEnsemble([]*sft.Model{layers, modeltest.RandomModel(c, 2)}, cpu.New(1)))(t)
	defer ensemble.Close()
	must.FailWith(t, sft.ErrEnsemble)(ensemble.Explain(t.Context(), rows))
}

// TestFusionFile checks that a written fusion is read back, and that errors for invalid values name
// the key or the value.
func TestFusionFile(t *testing.T) {
	dir := t.TempDir()
	f := &sft.Fusion{ModelType: config.FusionType, Members: []string{"linear", "sft"}, Weights: []float64{0.6, 0.3},
		Temperature: 1.5, Losses: []float64{1, 2}, Loss: 0.5}
	must.Succeed(t, f.Save(dir))
	if got := must.Get(sft.ReadFusion(dir))(t); got.Weights[1] != 0.3 || got.Members[0] != "linear" ||
		got.Temperature != 1.5 || got.Loss != 0.5 {
		t.Errorf("the fusion is read back as %+v, want %+v", got, f)
	}
	if got := must.Get(sft.ReadFusion(filepath.Join(modeltest.GoldenDir, "pre")))(t); got != nil {
		t.Errorf("the config.json of a model is read as the fusion %+v, want nil", got)
	}
	for key, text := range map[string]string{
		"members":     `{"model_type":"fusion","members":["a"],"weights":[1],"temperature":1}`,
		`"../b"`:      `{"model_type":"fusion","members":["a","../b"],"weights":[1,1],"temperature":1}`,
		`"a"`:         `{"model_type":"fusion","members":["a","a"],"weights":[1,1],"temperature":1}`,
		"weights":     `{"model_type":"fusion","members":["a","b"],"weights":[1],"temperature":1}`,
		"weights[1]":  `{"model_type":"fusion","members":["a","b"],"weights":[1,-1],"temperature":1}`,
		"only zeros":  `{"model_type":"fusion","members":["a","b"],"weights":[0,0],"temperature":1}`,
		"temperature": `{"model_type":"fusion","members":["a","b"],"weights":[1,1]}`,
	} {
		must.Succeed(t, os.WriteFile(filepath.Join(dir, "config.json"), []byte(text), 0o666))
		must.Fail(t, key, text)(sft.ReadFusion(dir))
	}
}

// TestFusionDevice checks that the scorer of a fusion reports the device properties of the member
// with layers, not those of the linear model.
func TestFusionDevice(t *testing.T) {
	dir, _ := modeltest.LinearDir(t, 1)
	linear := must.Get(sft.Load(dir))(t)
	c := configtest.TinyConfig()
	c.VocabSize, c.PadTokenID, c.Tokenizer = linear.Config.VocabSize, linear.Config.PadTokenID, linear.Config.Tokenizer
	c.LabelNames, c.NumLabels = linear.Config.LabelNames, linear.Config.NumLabels
	layers, f := modeltest.RandomModel(c, 1), &sft.Fusion{Weights: []float64{1, 1}, Temperature: 1}
	d := cpu.New(2)
	s := must.Get(sft.NewFusion([]*sft.Model{linear, layers}, f, d))(t)
	defer s.Close()
	alone := modeltest.NewScorerOf(t, layers, d)
	if s.Kernels() != d.Kernels() || s.PassTokens() != alone.PassTokens() || s.Preemptive() != alone.Preemptive() {
		t.Errorf("kernels %s, %d tokens in a pass, want the values of the member with layers", s.Kernels(),
			s.PassTokens())
	}
	must.Succeed(t, s.Probe(t.Context()))
}

// TestFitFusionNonFinite checks that the error for overflowing logits names the member and the row.
func TestFitFusionNonFinite(t *testing.T) {
	_, rows := tinySplits(t, config.Classification)
	c := configtest.TinyConfig()
	good, bad := modeltest.RandomModel(c, 1), modeltest.RandomModel(c, 2)
	for i := range bad.Weights {
		bad.Weights[i] *= 1e38
	}
	_, err := FitFusion(t.Context(), []Member{{"good", "first", good}, {"bad", "second", bad}}, rows, cpu.New(1), nil)
	if err == nil || !strings.Contains(err.Error(), `row 0: the model "bad" has the logits `) {
		t.Errorf("error %v, want one with row 0 and the model bad", err)
	}
}
